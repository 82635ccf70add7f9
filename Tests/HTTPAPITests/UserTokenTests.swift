import Operations
import Support
import Testing

@testable import HTTPAPI

/// The tokens that prove a user.
struct UserTokenTests {
  private static let now = UnixMilliseconds(1_700_000_000_000)
  private static let host = "\(BeamsSettings.instance).pushnotifications.pusher.com"

  private func instance(_ id: String = BeamsSettings.instance, _ secret: String = BeamsSettings.secret)
    -> Configuration.BeamsInstance
  {
    Configuration.BeamsInstance(id: id, secretKey: SecretText(secret), topics: ["a.b"], environment: .production)
  }

  @Test("the published vector and one of our own prove their users")
  func vectors() throws {
    let published = try UserToken(
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjQ3MDc5OTIzMDIsImlzcyI6Imh0dHBzOi8vMWI4ODA1OTAtNjMwMS00YmI1LWIzNGYtNDVkYjFjNWY1NjQ0LnB1c2hub3RpZmljYXRpb25zLnB1c2hlci5jb20iLCJzdWIiOiJjdWNhcyJ9.CTtrDXh7vae3rSSKBKf5X0y4RQpFg7YvIlirmBQqJn4",
      instance: instance(
        "1b880590-6301-4bb5-b34f-45db1c5f5644", "F8AC0B756E50DF235F642D6F0DC2CDE0328CD9184B3874C5E91AB2189BB722FE"),
      now: Self.now)
    let own = try UserToken(
      "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovLzAwMDAwMDAwLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwYmVlZi5wdXNobm90aWZpY2F0aW9ucy5wdXNoZXIuY29tIiwic3ViIjoiamFuZWRvZSIsImV4cCI6NDEwMjQ0NDgwMH0.uWKeHAhLgAf2dPNwI8iDlas6l4zx6YkAlPpV3clCs2o",
      instance: instance(), now: Self.now)

    #expect(published.user == "cucas" && own.user == "janedoe")
  }

  @Test(
    "claims are refused with the service's status",
    arguments: [
      (#"{"exp":4102444800,"iss":"HOST"}"#, 400), (#"{"sub":"a","exp":4102444800}"#, 400),
      (#"{"sub":"a","iss":"HOST"}"#, 400), (#"{"sub":"","exp":4102444800,"iss":"HOST"}"#, 400),
      (#"{"sub":5,"exp":4102444800,"iss":"HOST"}"#, 400), (#"{"sub":"a","exp":"4102444800","iss":"HOST"}"#, 400),
      (#"{"sub":"\#(String(repeating: "é", count: 165))","exp":4102444800,"iss":"HOST"}"#, 400),
      (#"{"sub":"a","exp":4102444800,"iss":"https://HOST.example.com"}"#, 403),
      (#"{"sub":"a","exp":1700000000,"iss":"HOST"}"#, 401),
      (#"{"sub":"a","exp":4102444800,"iss":"HOST","iat":1700000400}"#, 401), ("[]", 401), ("{", 401),
    ])
  func claims(claims: String, status: Int) {
    let token = BeamsSettings.token(claims.replacing("HOST", with: Self.host))
    let error = #expect(throws: BeamsError.self) { try UserToken(token, instance: instance(), now: Self.now) }
    #expect(error?.status == status)
  }

  @Test("an issuer without https, a clock slightly ahead and letters of any language are taken")
  func lenience() throws {
    let user = String(repeating: "é", count: 127)
    let token = BeamsSettings.token(
      #"{"sub":"\#(user)","exp":4102444800.5,"iss":"\#(Self.host)","iat":1700000200}"#, header: #"{"alg":"HS256"}"#)
    #expect(try UserToken(token, instance: instance(), now: Self.now).user == user)
  }

  @Test("a token that is not signed with this key by HS256 proves nobody")
  func signatures() {
    let claims = BeamsSettings.claims("jane")
    let good = BeamsSettings.token(claims)
    var tokens = [
      BeamsSettings.token(claims, secret: "another secret key"),
      BeamsSettings.token(claims, header: #"{"alg":"none"}"#),
      BeamsSettings.token(claims, header: #"{"alg":"hs256"}"#), BeamsSettings.token(claims, header: "{}"),
      String(good.prefix { $0 != "." }) + "..", "a.b.c", "", "..", good + ".x", String(good.dropLast()), good + "A",
    ]
    // The same signature under other claims.
    let parts = good.split(separator: ".").map(String.init)
    tokens.append(
      [parts[0], BeamsSettings.token(BeamsSettings.claims("eve")).split(separator: ".").map(String.init)[1], parts[2]]
        .joined(separator: "."))
    tokens.append([parts[0], parts[1], ""].joined(separator: "."))
    for token in tokens {
      let error = #expect(throws: BeamsError.self) { try UserToken(token, instance: instance(), now: Self.now) }
      #expect(error?.status == 401 && error?.description.contains("device token") == false, "\(token)")
    }
  }
}
