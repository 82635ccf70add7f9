import Operations

SendBench.command.main(version: ProductVersion(name: "send-bench", version: "1"))
