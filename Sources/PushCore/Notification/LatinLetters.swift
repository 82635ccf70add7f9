/// How Latin letters beyond ASCII are spelled in ASCII, as `str_slug` of Laravel 5.8 does it for them; `ö` is `o`, not
/// `oe`.
///
/// Whatever is not here counts as lost, so that no interest is made that the app would spell differently.
enum LatinLetters {
  /// The ASCII spelling; nil when there is none.
  static func spelling(of scalar: UnicodeScalar) -> String? { spellings[scalar] }

  private static let spellings: [UnicodeScalar: String] = {
    var spellings: [UnicodeScalar: String] = [:]
    for (spelling, letters) in table {
      for letter in letters.unicodeScalars where letter != " " { spellings[letter] = spelling }
    }
    for space in spaces { spellings[space] = " " }
    return spellings
  }()

  private static let table: [(String, String)] = [
    ("0", "° ₀ ０"), ("1", "¹ ₁ １"), ("2", "² ₂ ２"), ("3", "³ ₃ ３"), ("4", "⁴ ₄ ４"), ("5", "⁵ ₅ ５"),
    ("6", "⁶ ₆ ６"),
    ("7", "⁷ ₇ ７"), ("8", "⁸ ₈ ８"), ("9", "⁹ ₉ ９"),
    (
      "a",
      "à á ả ã ạ ă ắ ằ ẳ ẵ ặ â ấ ầ ẩ ẫ ậ ā ą å ä ǻ ǎ ª ａ À Á Ả Ã Ạ Ă Ắ Ằ Ẳ Ẵ Ặ Â Ấ Ầ Ẩ Ẫ Ậ Ā Ą Å Ä Ǻ Ǎ Ａ"
    ),
    ("b", "ｂ Ｂ"),
    ("c", "ç ć č ĉ ċ ｃ Ç Ć Č Ĉ Ċ Ｃ"),
    ("d", "ď ð đ ƌ ȡ ɖ ɗ ᵭ ᶁ ᶑ ｄ Ď Ð Đ Ɖ Ɗ Ƌ ᴅ ᴆ Ｄ"),
    ("e", "é è ẻ ẽ ẹ ê ế ề ể ễ ệ ë ē ę ě ĕ ė ə ｅ É È Ẻ Ẽ Ẹ Ê Ế Ề Ể Ễ Ệ Ë Ē Ę Ě Ĕ Ė Ə Ｅ"),
    ("f", "ƒ ｆ Ｆ"),
    ("g", "ĝ ğ ġ ģ ｇ Ğ Ġ Ģ Ｇ"),
    ("gx", "Ĝ"),
    ("h", "ĥ ħ ｈ Ħ Ｈ"),
    ("hx", "Ĥ"),
    ("i", "í ì ỉ ĩ ị î ï ī ĭ į ı ǐ ｉ Í Ì Ỉ Ĩ Ị Î Ï Ī Ĭ Į İ Ǐ Ｉ"),
    ("j", "ĵ ｊ Ｊ"),
    ("jx", "Ĵ"),
    ("k", "ķ ĸ Ķ ｋ Ｋ"),
    ("l", "ł ľ ĺ ļ ŀ ｌ Ł Ľ Ĺ Ļ Ŀ Ｌ"),
    ("m", "ｍ Ｍ"),
    ("n", "ñ ń ň ņ ŉ ŋ ｎ Ñ Ń Ň Ņ Ŋ Ｎ"),
    (
      "o",
      "ó ò ỏ õ ọ ô ố ồ ổ ỗ ộ ơ ớ ờ ở ỡ ợ ø ō ő ŏ ö ǒ ǿ º ｏ Ó Ò Ỏ Õ Ọ Ô Ố Ồ Ổ Ỗ Ộ Ơ Ớ Ờ Ở Ỡ Ợ Ø Ō Ő Ŏ Ö Ǒ Ǿ Ｏ"
    ),
    ("p", "ｐ Ｐ"),
    ("q", "ｑ Ｑ"),
    ("r", "ŕ ř ŗ ｒ Ŕ Ř Ŗ Ｒ"),
    ("s", "ś š ş ș ſ ｓ Ś Š Ş Ș Ŝ Ｓ"),
    ("sx", "ŝ"),
    ("t", "ť ţ ț ŧ ｔ Ť Ţ Ț Ŧ Ｔ"),
    (
      "u",
      "ú ù ủ ũ ụ ư ứ ừ ử ữ ự û ū ů ű ŭ ų ü µ ǔ ǖ ǘ ǚ ǜ ｕ Ú Ù Ủ Ũ Ụ Ư Ứ Ừ Ử Ữ Ự Û Ū Ů Ű Ŭ Ų Ü Ǔ Ǖ Ǘ Ǚ Ǜ Ｕ"
    ),
    ("v", "ｖ Ｖ"),
    ("w", "ŵ ｗ Ŵ Ｗ"),
    ("x", "ｘ Ｘ"),
    ("y", "ý ỳ ỷ ỹ ỵ ÿ ŷ ｙ Ý Ỳ Ỷ Ỹ Ỵ Ÿ Ŷ Ｙ"),
    ("z", "ź ž ż ｚ Ź Ž Ż Ｚ"),
    ("ae", "æ ǽ Æ Ǽ"), ("ij", "ĳ Ĳ"), ("oe", "œ Œ"), ("ss", "ß ẞ"), ("th", "þ Þ"), ("c", "©"),
  ]

  private static let spaces: [UnicodeScalar] = [
    "\u{A0}", "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}", "\u{2006}",
    "\u{2007}",
    "\u{2008}", "\u{2009}", "\u{200A}", "\u{202F}", "\u{205F}", "\u{3000}",
  ]
}
