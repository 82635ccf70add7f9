import Operations
import Testing

@testable import HTTP2

private func time(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

private func makePool(maximum: Int = 2) -> ConnectionPool {
  ConnectionPool(
    ConnectionPool.Rules(
      maximumConnections: maximum, growAfter: .milliseconds(200), idleTimeout: .seconds(60),
      replacementInterval: .seconds(15), refusalDelay: .milliseconds(100), noStreamsTimeout: .seconds(20),
      minimumBackoff: .seconds(1),
      maximumBackoff: .seconds(60)))
}

/// A pool with ready connections numbered from 1, each with so many streams open of so many allowed.
private func makePool(maximum: Int = 2, ready: [(open: Int, limit: Int)]) -> ConnectionPool {
  var pool = makePool(maximum: maximum)
  for (index, member) in ready.enumerated() {
    let id = UInt32(index + 1)
    pool.began(id)
    pool.ready(id, limit: member.limit, now: time(0))
    pool.observe(id, open: member.open, limit: member.limit, answered: 0, now: time(0))
  }
  return pool
}

@Suite struct ConnectionPoolTests {
  @Test("The first waiting request opens a connection, the next ones wait for it")
  func firstConnection() {
    var pool = makePool()

    expect(pool.demand(now: time(0)), .connect)
    pool.began(1)

    expect(pool.grant(now: time(0))?.count, nil)
    expect(pool.demand(now: time(0)), .satisfied)
  }

  @Test("Streams go to the connection with the most room, in portions")
  func grants() {
    var pool = makePool(ready: [(open: 990, limit: 1000), (open: 500, limit: 1000)])

    let grant = pool.grant(now: time(0))

    #expect(grant?.id == 2)
    #expect(grant?.count == 32)
  }

  @Test("A connection never gets more streams than its limit leaves")
  func limit() {
    var pool = makePool(ready: [(open: 995, limit: 1000)])
    expect(pool.grant(now: time(0))?.count, 5)
  }

  @Test("A limit below the open streams gives no room", arguments: [0, 1, 3])
  func loweredLimit(limit: Int) {
    var pool = makePool(ready: [(open: 3, limit: limit)])
    expect(pool.grant(now: time(0))?.count, nil)
  }

  @Test("A second connection is opened only after the first has been full for a while")
  func growth() {
    var pool = makePool(ready: [(open: 1000, limit: 1000)])

    expect(pool.demand(now: time(0)), .satisfied)
    expect(pool.demand(now: time(199)), .satisfied)
    expect(pool.demand(now: time(200)), .connect)
    pool.began(2)
    expect(pool.demand(now: time(900)), .satisfied)
  }

  @Test("Room in between starts the wait for a second connection anew")
  func growthInterrupted() {
    var pool = makePool(ready: [(open: 1000, limit: 1000)])
    _ = pool.demand(now: time(0))

    pool.relaxed()

    expect(pool.demand(now: time(250)), .satisfied)
    expect(pool.demand(now: time(449)), .satisfied)
    expect(pool.demand(now: time(450)), .connect)
  }

  @Test("The pool does not grow beyond its maximum")
  func maximum() {
    var pool = makePool(maximum: 1, ready: [(open: 10, limit: 10)])
    _ = pool.demand(now: time(0))
    expect(pool.demand(now: time(10_000)), .satisfied)
  }

  @Test("A peer that allows a single stream is not met with more connections")
  func singleStream() {
    var pool = makePool(ready: [(open: 1, limit: 1)])
    _ = pool.demand(now: time(0))
    expect(pool.demand(now: time(10_000)), .satisfied)
  }

  @Test("After a failed connect the origin is left alone, for longer each time, and then tried again")
  func backoff() {
    var pool = makePool()
    var now = time(0)
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
      expect(pool.demand(now: now), .connect)
      pool.began(1)
      pool.failed(1, now: now, random: 0)
      let until = now + .seconds(wait)
      expect(pool.demand(now: now), .refuse(until: until))
      now = until
    }
  }

  @Test("Jitter shortens a wait by up to a quarter, never below the minimum", arguments: [0, 0.5, 0.999])
  func jitter(random: Double) throws {
    var backoff = Backoff(minimum: .seconds(1), maximum: .seconds(60))

    backoff.failed(time(0), random: random)
    #expect(backoff.notBefore == time(1000))
    backoff.failed(time(0), random: random)
    let second = try #require(backoff.notBefore)

    #expect(second <= time(2000))
    #expect(second >= time(1500))
  }

  @Test("An answer ends the back-off")
  func proved() {
    var pool = makePool()
    pool.began(1)
    pool.failed(1, now: time(0), random: 0)

    pool.proved()

    expect(pool.demand(now: time(1)), .connect)
  }

  @Test("A failed extra connection does not stop the working one, nor is it tried again at once")
  func failedExtra() {
    var pool = makePool(ready: [(open: 10, limit: 10)])
    _ = pool.demand(now: time(0))
    expect(pool.demand(now: time(300)), .connect)
    pool.began(2)

    pool.failed(2, now: time(300), random: 0)

    expect(pool.demand(now: time(300)), .satisfied)
    expect(pool.demand(now: time(1200)), .satisfied)
    expect(pool.demand(now: time(1300)), .connect)
  }

  @Test("A draining connection gets no streams, and another one takes its place")
  func draining() {
    var pool = makePool(maximum: 1, ready: [(open: 5, limit: 1000)])

    expect(pool.drain(1), true)
    expect(pool.drain(1), false)

    expect(pool.grant(now: time(0))?.count, nil)
    expect(pool.demand(now: time(0)), .connect)
  }

  @Test("A connection that ends at once without an answer counts as a failed connect")
  func earlyEnd() {
    var pool = makePool(ready: [(open: 1, limit: 1)])

    expect(pool.ended(1, .unanswered, now: time(4999), random: 0), true)

    expect(pool.demand(now: time(4999)), .refuse(until: time(5999)))
  }

  @Test("A connection that gave answers, lived long or was closed by us is replaced at once")
  func lateEnd() {
    let ends: [(ConnectionPool.End, UInt64)] = [(.broken, 10), (.goAway, 10), (.intended, 10), (.unanswered, 5000)]
    for (end, at) in ends {
      var pool = makePool(ready: [(open: 1, limit: 1)])
      expect(pool.ended(1, end, now: time(at), random: 0), false)
      expect(pool.demand(now: time(at)), .connect)
    }
  }

  @Test("A server that breaks one connection after the other is left alone, one that says GOAWAY is not")
  func breaksInRow() {
    for (end, refused) in [(ConnectionPool.End.broken, true), (.goAway, false)] {
      var pool = makePool()
      var ends: [Bool] = []
      for id: UInt32 in 1...4 {
        pool.began(id)
        pool.ready(id, limit: 10, now: time(0))
        pool.proved()
        ends.append(pool.ended(id, end, now: time(1), random: 0))
      }
      #expect(ends == [false, false, false, refused])
      expect(pool.demand(now: time(1)), refused ? .refuse(until: time(1001)) : .connect)
    }
  }

  @Test("A connection that lived long ends a row of broken ones")
  func rowEnded() {
    var pool = makePool()
    for (id, end): (UInt32, UInt64) in [(1, 1), (2, 1), (3, 1), (4, 5000), (5, 1)] {
      pool.began(id)
      pool.ready(id, limit: 10, now: time(0))
      expect(pool.ended(id, .broken, now: time(end), random: 0), false)
    }
  }

  @Test("A connection that allows no streams for long is given up, one that allows some in between is not")
  func noStreams() {
    var pool = makePool(ready: [(open: 0, limit: 0)])
    expect(pool.demand(now: time(0)), .satisfied)
    expect(pool.demand(now: time(19_999)), .satisfied)
    expect(pool.demand(now: time(20_000)), .replace(1))

    pool.observe(1, open: 0, limit: 1, answered: 0, now: time(20_001))
    expect(pool.demand(now: time(20_001)), .satisfied)
    pool.observe(1, open: 1, limit: 0, answered: 0, now: time(20_002))
    expect(pool.demand(now: time(20_002)), .satisfied)
    expect(pool.demand(now: time(40_001)), .satisfied)
    expect(pool.demand(now: time(40_002)), .replace(1))
  }

  @Test("Only a connection beyond the first is closed for being idle")
  func surplus() {
    var pool = makePool(ready: [(open: 0, limit: 10), (open: 0, limit: 10)])
    #expect(pool.surplus(now: time(59_999)) == nil)
    #expect(pool.surplus(now: time(60_000)) == 2)

    _ = pool.ended(2, .intended, now: time(60_000), random: 0)
    #expect(pool.surplus(now: time(90_000)) == nil)
  }

  @Test("A stream in between makes a connection young again")
  func idleAgain() {
    var pool = makePool(ready: [(open: 0, limit: 10), (open: 0, limit: 10)])
    for id: UInt32 in [1, 2] {
      pool.observe(id, open: 1, limit: 10, answered: 0, now: time(30_000))
      pool.observe(id, open: 0, limit: 10, answered: 0, now: time(31_000))
    }
    #expect(pool.surplus(now: time(90_999)) == nil)
    #expect(pool.surplus(now: time(91_000)) == 2)
  }

  @Test("Sick connections are replaced at most once in the interval")
  func replacementRate() {
    var pool = makePool()
    expect(pool.mayReplace(now: time(0)), true)
    expect(pool.mayReplace(now: time(14_999)), false)
    expect(pool.mayReplace(now: time(15_000)), true)
  }
}

@Suite struct ConnectionHealthTests {
  @Test("Server errors count only in a row")
  func serverErrors() {
    var health = ConnectionHealth()
    for status: UInt16 in [500, 503, 200, 500, 599] { health.answered(status) }
    #expect(health.serverErrorsInRow == 2)
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 3) == nil)
    health.answered(502)
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 3) != nil)
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 0) == nil)
  }

  @Test("Any answer ends a row of time-outs")
  func timeouts() {
    var health = ConnectionHealth()
    health.answered(200)
    for _ in 0..<2 { health.timedOut() }
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 0) == nil)
    health.timedOut()
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 0) != nil)
    health.answered(500)
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 0) == nil)
  }

  @Test("A connection that has never answered is replaced after one time-out, unless none is")
  func deadFromTheStart() {
    var health = ConnectionHealth()
    health.timedOut()
    #expect(health.complaint(timeoutLimit: 3, serverErrorLimit: 0) == "it has never answered a request")
    #expect(health.complaint(timeoutLimit: 0, serverErrorLimit: 0) == nil)
  }
}
