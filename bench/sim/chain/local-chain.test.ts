/** A local chain as a process: who it is, how blocks come, what is undone, and how it ends. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { anvilBinary } from "./anvil-binary.js";
import { minedReceipt } from "./chain-rpc.js";
import { type LocalChain, type LocalChainOptions, startLocalChain } from "./local-chain.js";

const SENDER = privateKeyToAccount(`0x${"11".repeat(32)}`);
const RECEIVER: Hex = "0x00000000000000000000000000000000000000aa";
const ONE: bigint = 10n ** 18n;
const GWEI = 10n ** 9n;

const running: LocalChain[] = [];

async function start(options: LocalChainOptions): Promise<LocalChain> {
  const chain = await startLocalChain(options);
  running.push(chain);
  return chain;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((chain) => chain.stop()));
});

/** Sends one coin; the nonce is the sender's own count. */
async function send(chain: LocalChain, nonce: number): Promise<Hex> {
  const raw = await SENDER.signTransaction({
    chainId: chain.chainId,
    type: "eip1559",
    to: RECEIVER,
    value: ONE,
    nonce,
    gas: 21_000n,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: GWEI,
  });
  return (await chain.rpc("eth_sendRawTransaction", [raw])) as Hex;
}

const balance = async ({ rpc }: LocalChain): Promise<bigint> =>
  BigInt((await rpc("eth_getBalance", [RECEIVER, "latest"])) as Hex);
const height = async ({ rpc }: LocalChain): Promise<number> => Number(await rpc("eth_blockNumber"));
const receipt = ({ rpc }: LocalChain, hash: Hex) => rpc("eth_getTransactionReceipt", [hash]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a local chain", () => {
  it("answers with its own chain id on a free port, several at once", async () => {
    const chains = await Promise.all([1, 56, 42161].map((chainId) => start({ chainId })));
    for (const chain of chains) expect(Number(await chain.rpc("eth_chainId"))).toBe(chain.chainId);
    expect(new Set(chains.map(({ rpcUrl }) => rpcUrl)).size).toBe(3);
    for (const { rpcUrl } of chains) expect(rpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it("is refused where its port is taken, by a chain of another id too", async () => {
    const other = await start({ chainId: 1 });
    const port = Number(new URL(other.rpcUrl).port);
    await expect(startLocalChain({ chainId: 56, port })).rejects.toThrow(/local chain ended at its start/);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const taken = (server.address() as AddressInfo).port;
    await expect(startLocalChain({ chainId: 56, port: taken })).rejects.toThrow(/local chain ended at its start/);
    server.close();
  });

  it("makes a block with every transaction unless told otherwise", async () => {
    const chain = await start({ chainId: 56 });
    await chain.setBalance(SENDER.address, 10n * ONE);
    const hash = await send(chain, 0);
    expect(await minedReceipt(chain.rpc, hash)).toMatchObject({ status: "0x1", blockNumber: "0x1" });
    expect(await balance(chain)).toBe(ONE);
  });

  it("lets transactions wait under manual mining until `mine`, and forgets one that is dropped", async () => {
    const chain = await start({ chainId: 56, mining: { kind: "manual" } });
    await chain.setBalance(SENDER.address, 10n * ONE);
    const first = await send(chain, 0);
    expect(await receipt(chain, first)).toBeNull();
    expect(await chain.drop(first)).toBe(true);
    expect(await chain.drop(first)).toBe(false);
    await chain.mine();
    expect(await balance(chain)).toBe(0n);
    const second = await send(chain, 0);
    await chain.mine(3);
    expect(await receipt(chain, second)).toMatchObject({ status: "0x1", blockNumber: "0x2" });
    expect(await height(chain)).toBe(4);
    await chain.setAutomine(true);
    expect(await minedReceipt(chain.rpc, await send(chain, 1))).toMatchObject({ blockNumber: "0x5" });
  });

  it("undoes blocks in a reorg: the height stays, the transaction is as never sent, and can be sent again", async () => {
    const chain = await start({ chainId: 56 });
    await chain.setBalance(SENDER.address, 10n * ONE);
    await chain.mine(2);
    const hash = await send(chain, 0);
    await minedReceipt(chain.rpc, hash);
    await chain.mine();
    const before = (await chain.rpc("eth_getBlockByNumber", ["0x3", false])) as { hash: Hex };
    await chain.reorg(2);
    expect(await height(chain)).toBe(4);
    const after = (await chain.rpc("eth_getBlockByNumber", ["0x3", false])) as { hash: Hex };
    expect(after.hash).not.toBe(before.hash);
    expect(await receipt(chain, hash)).toBeNull();
    expect(await chain.rpc("eth_getTransactionByHash", [hash])).toBeNull();
    expect(await balance(chain)).toBe(0n);
    expect(await send(chain, 0)).toBe(hash);
    expect(await minedReceipt(chain.rpc, hash)).toMatchObject({ blockNumber: "0x5" });
    expect(await balance(chain)).toBe(ONE);
  });

  it("moves a transaction to another block in a reorg that places it there", async () => {
    const chain = await start({ chainId: 56 });
    await chain.setBalance(SENDER.address, 10n * ONE);
    await chain.mine();
    const hash = await send(chain, 0);
    await minedReceipt(chain.rpc, hash);
    await chain.mine();
    const raw = (await chain.rpc("eth_getRawTransactionByHash", [hash])) as Hex;
    await chain.reorg(2, [{ raw, block: 1 }]);
    expect(await receipt(chain, hash)).toMatchObject({ blockNumber: "0x3", status: "0x1" });
    expect(await balance(chain)).toBe(ONE);
  });

  it("charges the base fee that the next block is given", async () => {
    const chain = await start({ chainId: 56 });
    await chain.setBalance(SENDER.address, 10n * ONE);
    await chain.setNextBaseFee(40n * GWEI);
    const { effectiveGasPrice } = await minedReceipt(chain.rpc, await send(chain, 0));
    expect(BigInt(effectiveGasPrice)).toBe(41n * GWEI);
  });

  it("ends with `stop`, by the id of its process", async () => {
    const chain = await start({ chainId: 56 });
    expect(isAlive(chain.pid)).toBe(true);
    await chain.stop();
    await chain.stop();
    expect(isAlive(chain.pid)).toBe(false);
    await expect(chain.rpc("eth_chainId")).rejects.toThrow();
  });

  it("ends with the process that started it, even one that is killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "unwind-chain-"));
    const program = compileChild("bench/sim/chain/test/chain-owner.child.ts", folder);
    const owner = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void owner.kill("SIGKILL"));
    const [line] = (await once(createInterface({ input: owner.stdout }), "line")) as [string];
    rmSync(folder, { recursive: true });
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});

describe("the program of local chains", () => {
  it("is looked for in the package of the platform, and missed without an error elsewhere", () => {
    expect(anvilBinary()).toMatch(/bin[/\\]anvil(\.exe)?$/);
    expect(anvilBinary("aix", "ppc")).toBeNull();
  });
});
