import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  /// What processes see of each other's end; behind a pooler nothing.
  static let owners = [
    StoreBehavior("What a dead worker had leased can be claimed at once, what a live one has cannot", deadAndLive),
    StoreBehavior("A task that kills its workers one after the other is parked after five of them", killerOfWorkers),
  ]
}

extension StoreFixture {
  /// Another process in which a worker has leased a task.
  fileprivate func worker(_ owner: Int64) async throws -> (store: any FullStore, task: LeasedTask) {
    let other = try await openAnother()
    let task = try #require(try await claim(owner: owner, from: other, limit: 1).first)
    // Returns when others can see it.
    await other.onNewWork { _ in }
    return (other, task)
  }

  /// Looks, as a worker does each second, until leases of the dead are found; no time passes for the store.
  fileprivate func reapDead() async throws -> [ReapedTask] {
    var reaped: [ReapedTask] = []
    try await eventually("a dead worker is found") {
      reaped = try await store.reap(except: [])
      return !reaped.isEmpty
    }
    return reaped
  }
}

private func deadAndLive(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 1...3 { try await fixture.publish(Target(tokens: [StoreFixture.token(number)])) }
  let dead = try await fixture.worker(71)
  let live = try await fixture.worker(72)
  let own = try await fixture.claimOne(owner: 1)
  #expect(try await fixture.store.reap(except: []).isEmpty)

  await dead.store.close()
  #expect(try await fixture.reapDead().map(\.id) == [dead.task.id])

  let next = try await fixture.claimOne(owner: 1)
  #expect(next.id == dead.task.id && next.epoch == dead.task.epoch + 1)
  for (store, owner, task) in [(live.store, 72, live.task), (fixture.store, 1, own)]
    as [(any FullStore, Int64, LeasedTask)]
  {
    let lease = LeaseReference(task: task.id, epoch: task.epoch)
    #expect(try await store.renew([lease], owner: owner, lease: StoreFixture.lease) == [.kept])
  }
  await live.store.close()
}

private func killerOfWorkers(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  for round in 1...5 {
    let worker = try await fixture.worker(Int64(round))
    await worker.store.close()
    #expect(try await fixture.reapDead().map(\.isParked) == [round == 5])
  }
  #expect(try await fixture.status(id).state == .parked)
}
