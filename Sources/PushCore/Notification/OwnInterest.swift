/// The interest that names one user: `auth-` and their slug. Where it is protected it belongs to the first user with that slug
/// who was proved by a signed user token.
public enum OwnInterest {
  /// The name; nil when the user id leaves none.
  public static func name(of user: String) -> String? {
    // A user whose letters the rule would lose has no interest of their own; that is no error of theirs.
    guard let slug = try? InterestSlug.slug(of: user) else { return nil }
    let name = "auth-" + slug
    return InterestName.fault(in: name) == nil ? name : nil
  }
}
