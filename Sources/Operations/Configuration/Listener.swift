extension Configuration {
  /// A part of the HTTP interface that a listener can serve.
  public enum Surface: String, Sendable, CaseIterable {
    /// For backends, with API keys.
    case backend
    /// For apps, without a key: registration and the Beams SDKs' calls.
    case device
    /// For backends that speak Beams, with the secret key of an instance.
    case beams
    /// Health, metrics, the description of the interface.
    case operations
  }

  /// An address where HTTP is served.
  public struct Listener: Sendable, Equatable {
    /// A certificate with its key, PEM files both.
    public struct TLS: Sendable, Equatable {
      /// The certificate, its intermediates behind it.
      public var certificateFile: String
      /// The key.
      public var keyFile: String
    }

    /// The address; port 0 = any free one.
    public var address: HostPort
    /// nil = plain HTTP.
    public var tls: TLS?
    /// What is served there.
    public var surfaces: Set<Surface>

    /// A listener by its parts.
    public init(address: HostPort, tls: TLS? = nil, surfaces: Set<Surface>) {
      self.address = address
      self.tls = tls
      self.surfaces = surfaces
    }
  }
}
