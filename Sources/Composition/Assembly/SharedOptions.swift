import Operations

extension CommandOption {
  /// `--store URL`.
  public static let store = value(
    "store", "URL", "queue, registry and receipts: sqlite:PATH or postgresql://… (default: sqlite:pushrelay.db)")
  /// `--topic T`.
  public static let topic = value(
    "topic", "T", "bundle ID, or topic with its suffix (default: the only configured app)")
  /// `--environment`.
  public static let environment = choice(
    "environment", ["production", "sandbox"], "APNs environment (default: the configured app's)")
  /// `--host HOST:PORT`.
  public static let host = value("host", "HOST:PORT", "another APNs, such as the simulator")
  /// `--ca FILE`.
  public static let authorities = value("ca", "FILE", "PEM file of an authority to trust beside the system's")
  /// `--proxy URL`.
  public static let proxy = value("proxy", "URL", "HTTP proxy to reach APNs through: http://USER:PASSWORD@HOST:PORT")
}
