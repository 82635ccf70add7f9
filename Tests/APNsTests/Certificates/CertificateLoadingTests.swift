import Foundation
import OpenSSL
import Operations
import Support
import Testing

/// The certificates that the tests use; `Fixtures/certificates/make` makes them anew.
enum TestCertificate {
  static func load(_ file: String, password: String? = nil) throws -> ClientCertificate {
    try ClientCertificate(bytes: try Fixture.bytes("certificates/\(file)"), password: password)
  }
}

@Suite("Loading a certificate")
struct CertificateLoadingTests {
  private func code(_ file: String, password: String? = nil) -> ClientCertificateError.Code? {
    do {
      _ = try TestCertificate.load(file, password: password)
      return nil
    } catch let error as ClientCertificateError {
      // Whatever is said holds no secret and says what to do.
      #expect(!error.description.contains("secret") && !error.remedy.isEmpty)
      return error.code
    } catch {
      Issue.record(error)
      return nil
    }
  }

  @Test(
    "PEM in any order and PKCS#12 of any age give the same certificate",
    arguments: [
      ("push.pem", nil), ("push-key-first.pem", nil), ("push.pem", "not needed"), ("encrypted.pem", "secret"),
      ("push.p12", "secret"), ("no-password.p12", nil), ("no-password.p12", ""), ("legacy.p12", "secret"),
    ])
  func loads(file: String, password: String?) throws {
    let details = try TestCertificate.load(file, password: password).details
    let plain = try TestCertificate.load("push.pem").details

    #expect(details == plain)
    #expect(details.userID == "com.example.app")
    #expect(
      details.subject == "C=DE,O=Müller,OU=TESTTEAM01,CN=Apple Push Services: com.example.app,UID=com.example.app")
    #expect(details.topics == ["com.example.app", "com.example.app.voip", "com.example.app.complication"])
    #expect(details.services == [.development, .production])
    #expect(details.sha256.count == 32)
    #expect(details.notAfter - details.notBefore == 36_500 * 86_400)
  }

  @Test("A certificate that names one service and no topics beyond its subject says so")
  func sandbox() throws {
    let details = try TestCertificate.load("sandbox.pem").details
    #expect(details.services == .development)
    #expect(details.extensionTopics.isEmpty && details.topics == ["com.example.app"])
  }

  @Test("What is missing, wrong or damaged is told apart")
  func refused() throws {
    #expect(code("no-key.pem") == .noKey)
    #expect(code("no-key.p12", password: "secret") == .noKey)
    #expect(code("only-key.pem") == .noCertificate)
    #expect(code("mismatch.pem") == .keyMismatch)
    #expect(code("encrypted.pem") == .passwordNeeded)
    #expect(code("encrypted.pem", password: "wrong") == .wrongPassword)
    #expect(code("push.p12") == .passwordNeeded)
    #expect(code("push.p12", password: "wrong") == .wrongPassword)
    #expect(code("legacy.p12", password: "wrong") == .wrongPassword)
    #expect(code("make") == .damaged)
    let empty = #expect(throws: ClientCertificateError.self) {
      try ClientCertificate(bytes: Array(" \n".utf8), password: nil)
    }
    #expect(empty?.code == .empty)
    let p8 = try Fixture.bytes("keys/AuthKey_TESTKEY001.p8")
    let token = #expect(throws: ClientCertificateError.self) { try ClientCertificate(bytes: p8, password: nil) }
    #expect(token?.code == .noCertificate && token?.remedy.contains("key_file") == true)
  }

  @Test("Files that are cut off or changed in any place are refused or still whole, and nothing crashes")
  func damaged() throws {
    for file in ["push.pem", "push.p12", "no-password.p12"] {
      let bytes = try Fixture.bytes("certificates/\(file)")
      for length in stride(from: 0, to: bytes.count, by: 37) {
        #expect(throws: ClientCertificateError.self) {
          try ClientCertificate(bytes: Array(bytes.prefix(length)), password: "secret")
        }
      }
      for index in stride(from: 0, to: bytes.count, by: 101) {
        var changed = bytes
        changed[index] ^= 0x15
        _ = try? ClientCertificate(bytes: changed, password: "secret")
      }
    }
  }

  @Test("A certificate is good between its dates, and not before and after")
  func validity() throws {
    let details = try TestCertificate.load("push.pem").details
    func code(at time: Int64) -> ClientCertificateError.Code? {
      do {
        try details.checkValidity(at: time) { "time \($0)" }
        return nil
      } catch {
        #expect(error.message.contains("time \(error.code == .expired ? details.notAfter : details.notBefore)"))
        return error.code
      }
    }
    #expect(code(at: details.notBefore) == nil)
    #expect(code(at: details.notAfter) == nil)
    #expect(code(at: details.notBefore - 1) == .notYetValid)
    #expect(code(at: details.notAfter + 1) == .expired)
  }
}
