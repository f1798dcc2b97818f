/**
 * One local EVM chain: an `anvil` process on the loopback address, for one chain id. It forks nothing and asks nobody
 * over the network. Invariant: the process ends with `stop`, and also when this process dies, whatever way.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Hex } from "viem";
import { anvilBinary } from "./anvil-binary.js";
import { type ChainRpc, chainRpc } from "./chain-rpc.js";

/** When blocks come: with every transaction, at `mine` alone, or every so many seconds. */
export type Mining =
  | { readonly kind: "auto" }
  | { readonly kind: "manual" }
  | { readonly kind: "interval"; readonly seconds: number };

export interface LocalChainOptions {
  readonly chainId: number;
  /** Default 0: a free port. */
  readonly port?: number;
  /** Default auto. */
  readonly mining?: Mining;
  /** Of a block, and of a read; default the program's. */
  readonly gasLimit?: bigint;
  /** Unix time of the first block; default now. */
  readonly startSeconds?: number;
  /** So many blocks behind the newest is the one that the node holds for safe; default the program's, 32. */
  readonly safeLagBlocks?: number;
}

export interface PlacedTransaction {
  /** As it was signed. */
  readonly raw: Hex;
  /** In which of the new blocks, the lowest is 0. */
  readonly block: number;
}

export interface LocalChain {
  readonly chainId: number;
  readonly rpcUrl: string;
  /** Of the chain's own process. */
  readonly pid: number;
  /** Any call of the node; throws ChainRpcError where it refuses. */
  readonly rpc: ChainRpc;
  /** Makes that many blocks, default one; the first takes the waiting transactions. */
  mine(blocks?: number): Promise<void>;
  /** Takes a waiting transaction out of the pool. Returns false where it does not wait there. */
  drop(hash: Hex): Promise<boolean>;
  /**
   * Replaces the newest `depth` blocks by as many, empty but for `placed`. Other transactions of theirs wait nowhere: they
   * are as never sent.
   */
  reorg(depth: number, placed?: readonly PlacedTransaction[]): Promise<void>;
  /** Of the native coin, in wei. */
  setBalance(address: Hex, wei: bigint): Promise<void>;
  /** Whether each transaction gets a block at once. */
  setAutomine(isOn: boolean): Promise<void>;
  /** Of the next block, in wei; as a busy chain would raise it. */
  setNextBaseFee(wei: bigint): Promise<void>;
  /** Ends the process by its id; twice is once. */
  stop(): Promise<void>;
}

/** A busy machine may let a process wait for long before it runs at all. */
const START_MS_MAX = 60_000;
const POLL_MS = 10;

/**
 * Resolves once the chain answers with its id. Throws where the optional package is missing, where the port is taken,
 * and where another chain answers on it.
 */
export async function startLocalChain(options: LocalChainOptions): Promise<LocalChain> {
  const { chainId, port = 0, mining = { kind: "auto" } } = options;
  const binary = anvilBinary();
  if (binary === null) throw new Error("the optional package @foundry-rs/anvil is not installed for this platform");
  const child = spawn(binary, commandLine({ ...options, port, mining }), { stdio: ["ignore", "pipe", "pipe"] });
  const guard = endWithThisProcess(child);
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    guard?.kill("SIGKILL");
  };
  try {
    const rpcUrl = await listeningUrl(child);
    const rpc = chainRpc(rpcUrl);
    await answersAs(chainId, rpc, child);
    return { chainId, rpcUrl, pid: child.pid ?? 0, rpc, ...controls(rpc), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function commandLine(options: LocalChainOptions & { readonly port: number; readonly mining: Mining }): string[] {
  const { chainId, port, mining, gasLimit, startSeconds, safeLagBlocks } = options;
  return [
    ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(chainId)],
    // One thread and no accounts of its own: several chains run beside the service, and whoever needs gas is given it.
    ...["--threads", "1", "--accounts", "1", "--balance", "0", "--color", "never"],
    ...(mining.kind === "manual" ? ["--no-mining"] : []),
    ...(mining.kind === "interval" ? ["--block-time", String(mining.seconds)] : []),
    ...(gasLimit === undefined ? [] : ["--gas-limit", String(gasLimit)]),
    ...(startSeconds === undefined ? [] : ["--timestamp", String(startSeconds)]),
    ...(safeLagBlocks === undefined ? [] : ["--slots-in-an-epoch", String(safeLagBlocks)]),
  ];
}

/**
 * A shell that waits for the end of this process, seen as the end of its input, and then ends the chain. Null where there is
 * no such shell; the chain then outlives a killed parent.
 */
function endWithThisProcess(chain: ChildProcess): ChildProcess | null {
  if (process.platform === "win32" || chain.pid === undefined) return null;
  const guard = spawn("sh", ["-c", `read _; kill -9 ${chain.pid}`], { stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell there is no guard; `stop` works the same.
  guard.on("error", () => {});
  chain.once("exit", () => guard.kill("SIGKILL"));
  // Neither keeps this process alive: the chain is stopped by its owner, or ends with it.
  guard.unref();
  (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
  return guard;
}

/** The address that the process says it listens on: with port 0 the system has chosen it. */
function listeningUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const outputs = [child.stdout, child.stderr];
    const fail = (problem: string): void => {
      clearTimeout(timer);
      reject(new Error(`the local chain ${problem}${said === "" ? "" : `: ${said.trim().slice(-500)}`}`));
    };
    const timer = setTimeout(() => fail(`was not listening after ${START_MS_MAX} ms`), START_MS_MAX);
    const hear = (chunk: Buffer): void => {
      said = `${said}${chunk.toString()}`.slice(-4_000);
      const address = /Listening on (127\.0\.0\.1:\d+)\s/.exec(said)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      for (const stream of outputs) stream?.off("data", hear).resume();
      resolve(`http://${address}`);
    };
    // Read to its end all the same: a full pipe would stop the chain.
    for (const stream of outputs) stream?.on("data", hear);
    child.once("error", (error) => fail(`could not be started (${error.message})`));
    child.once("exit", (code) => fail(`ended at its start (code ${code ?? "none"})`));
  });
}

async function answersAs(chainId: number, rpc: ChainRpc, child: ChildProcess): Promise<void> {
  const endMs = performance.now() + START_MS_MAX;
  for (;;) {
    const answer = await rpc("eth_chainId").catch(() => null);
    if (answer !== null) {
      if (Number(answer) !== chainId) throw new Error(`chain ${Number(answer)} answers where ${chainId} was started`);
      if (child.exitCode !== null) throw new Error("another process answers on the chain's port");
      return;
    }
    if (child.exitCode !== null || performance.now() > endMs) throw new Error("the local chain does not answer");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

type Controls = Pick<LocalChain, "mine" | "drop" | "reorg" | "setBalance" | "setAutomine" | "setNextBaseFee">;

function controls(rpc: ChainRpc): Controls {
  return {
    mine: async (blocks = 1) => void (await rpc("anvil_mine", [hex(BigInt(blocks))])),
    drop: async (hash) => (await rpc("anvil_dropTransaction", [hash])) !== null,
    reorg: async (depth, placed = []) =>
      void (await rpc("anvil_reorg", [depth, placed.map(({ raw, block }) => [raw, block])])),
    setBalance: async (address, wei) => void (await rpc("anvil_setBalance", [address, hex(wei)])),
    setAutomine: async (isOn) => void (await rpc("evm_setAutomine", [isOn])),
    setNextBaseFee: async (wei) => void (await rpc("anvil_setNextBlockBaseFeePerGas", [hex(wei)])),
  };
}

const hex = (value: bigint): Hex => `0x${value.toString(16)}`;
