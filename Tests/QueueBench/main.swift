import Operations

Command(
  "queue-bench", "Enqueues into a relay's store as a backend does, and says how long that took, as JSON.",
  commands: [UrgentBench.command, SingleBench.command]
).main(version: ProductVersion(name: "queue-bench", version: "1"))
