/** Nonces, prices, estimates, broadcasts and tokens, over HTTP on loopback. */
import { encodeErrorResult, keccak256, parseAbi } from "viem";
import { describe, expect, it } from "vitest";
import type { ChainCall } from "../../../engine/chain.js";
import { toHex } from "./hex.js";
import { type HarnessOptions, OPTIONS, startChain } from "./test/harness.js";
import { OTHER, SENDER, TOKEN, word } from "./test/scripted-chain.js";
import { CUT, HANG, RawBody, type Reply, RpcFault } from "./test/scripted-endpoint.js";
import { toQuantity } from "./rpc-wire.js";

const GWEI = 1_000_000_000n;
const one = (replies: Record<string, Reply>, overrides: HarnessOptions["overrides"] = {}): HarnessOptions => ({
  ...{ heads: [100], replies: { 0: replies }, overrides },
});
const two = (first: Record<string, Reply>, second: Record<string, Reply>): HarnessOptions => ({
  ...{ heads: [100, 100], replies: { 0: first, 1: second } },
});

describe("the next nonce", () => {
  it("is the highest that an endpoint gives, with what waits in its pool", async () => {
    const { chain, chains, endpoints, settled } = await startChain({ heads: [100, 100, 100] });
    for (const [index, pending] of [8, 11, 9].entries()) Object.assign(chains[index] ?? {}, { pendingNonce: pending });
    expect(await settled(chain.nextNonce(SENDER, OPTIONS))).toMatchObject({ ok: true, value: 11 });
    expect(endpoints[0]?.calls.at(-1)?.params).toEqual([SENDER, "pending"]);
  });

  it("is given though one endpoint fails, and not where all do", async () => {
    const { chain, endpoints, settled } = await startChain(two({ eth_getTransactionCount: () => CUT }, {}));
    expect(await settled(chain.nextNonce(SENDER, OPTIONS))).toMatchObject({ ok: true, value: 7 });
    for (const endpoint of endpoints) endpoint.replies = { ...endpoint.replies, eth_getTransactionCount: () => CUT };
    expect(await settled(chain.nextNonce(SENDER, OPTIONS))).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });
});

describe("the price of gas", () => {
  const block =
    (baseFeePerGas: unknown): Reply =>
    () => ({ number: "0x64", hash: word(1), baseFeePerGas });

  it.each([
    ["twice the base fee and the tip", 3n * GWEI, GWEI, 7n * GWEI, GWEI],
    ["the tip alone where the base fee is zero", 0n, GWEI / 20n, GWEI / 20n, GWEI / 20n],
    ["nothing on a chain where both are zero", 0n, 0n, 0n, 0n],
    ["with the tip at its limit where an endpoint asks for more", GWEI, 400n * GWEI, 12n * GWEI, 10n * GWEI],
    ["at its limit where twice the base fee is above it", 300n * GWEI, GWEI, 500n * GWEI, GWEI],
  ])("is %s", async (_name, baseFee, tip, maxFeePerGas, maxPriorityFeePerGas) => {
    const { chain, chains, settled } = await startChain({ heads: [100] });
    Object.assign(chains[0] ?? {}, { baseFee, tip });
    expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({ value: { maxFeePerGas, maxPriorityFeePerGas } });
  });

  it("is refused above the limit, and the text says so", async () => {
    const { chain, chains, settled } = await startChain({ heads: [100] });
    Object.assign(chains[0] ?? {}, { baseFee: 499n * GWEI + 1n, tip: GWEI });
    expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({
      ...{ ok: false, code: "VENUE_ERROR", message: "a gas price of 500 gwei is above the limit of 500 gwei" },
    });
  });

  it("is another endpoint's where the first asks for an absurd one", async () => {
    const { chain, chains, settled } = await startChain({ heads: [100, 100] });
    Object.assign(chains[0] ?? {}, { baseFee: 2n ** 200n });
    expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({ ok: true, value: { maxFeePerGas: 2_100_000_000n } });
  });

  it("takes the tip out of the whole price where a node has no word for it", async () => {
    const noTip = { eth_maxPriorityFeePerGas: () => new RpcFault(-32_601, "method not found") };
    for (const [price, tip] of [
      [GWEI + 5n, 5n],
      [GWEI - 5n, 0n],
    ] as const) {
      const { chain, settled } = await startChain(one({ ...noTip, eth_gasPrice: () => toQuantity(price) }));
      expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({ value: { maxPriorityFeePerGas: tip } });
    }
  });

  it("is not read of a block without a base fee", async () => {
    const { chain, settled } = await startChain(one({ eth_getBlockByNumber: block(undefined) }));
    expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});

const VAULT_ERRORS = parseAbi([
  "error ZeroAmount()",
  "error CurrencyNotSupport(address currency)",
  "error ValueNotZero()",
]);
const PLAIN = parseAbi(["error Error(string)", "error Panic(uint256)"]);
const text = (reason: string) => encodeErrorResult({ abi: PLAIN, errorName: "Error", args: [reason] });
const panic = (code: bigint) => encodeErrorResult({ abi: PLAIN, errorName: "Panic", args: [code] });
const ofVault = (errorName: "ZeroAmount" | "ValueNotZero") => encodeErrorResult({ abi: VAULT_ERRORS, errorName });
const notSupported = encodeErrorResult({
  abi: VAULT_ERRORS,
  errorName: "CurrencyNotSupport",
  args: [`0x${"11".repeat(20)}`],
});

const CALL: ChainCall = { from: SENDER, to: TOKEN, value: 0n, data: Uint8Array.of(0x0e, 0xfe, 0x6a, 0x8b) };
const APPROVE: ChainCall = { ...CALL, data: Uint8Array.of(0x09, 0x5e, 0xa7, 0xb3, 0) };
const TRANSFER: ChainCall = { ...CALL, data: Uint8Array.of(0xa9, 0x05, 0x9c, 0xbb, 0) };

describe("an estimate of gas", () => {
  it("is the node's, of the call as given", async () => {
    const { chain, endpoints, settled } = await startChain(one({}));
    expect(await settled(chain.estimateGas({ ...CALL, value: 5n }, OPTIONS))).toMatchObject({
      value: { kind: "gas", gas: 60_000n },
    });
    expect(endpoints[0]?.calls.at(-1)).toMatchObject({
      ...{ method: "eth_estimateGas", params: [{ from: SENDER, to: TOKEN, value: "0x5", data: "0x0efe6a8b" }] },
    });
  });

  it.each<[string, unknown, string, string]>([
    ["a text", text("msg.value must be greater than 0"), "execution reverted", "msg.value must be greater than 0"],
    ["an empty text", text(""), "execution reverted", ""],
    ["a custom error without arguments", ofVault("ZeroAmount"), "execution reverted", "ZeroAmount()"],
    ["another one", ofVault("ValueNotZero"), "execution reverted: custom error", "ValueNotZero()"],
    ["one with an address", notSupported, "reverted", "CurrencyNotSupport(0x1111111111111111111111111111111111111111)"],
    ["a panic", panic(0x11n), "execution reverted", "panic: arithmetic overflow"],
    ["a panic of an unknown code", panic(0x99n), "execution reverted", "panic: 153"],
    ["an unknown error", `0x12345678${"00".repeat(32)}`, "execution reverted", "error 0x12345678"],
    ["data that is cut", text("longer than what is left").slice(0, 80), "execution reverted", "error 0x08c379a0"],
    ["data in an object", { data: text("nested") }, "VM Exception while processing transaction: revert", "nested"],
    ["data behind a word", `Reverted ${text("worded")}`, "VM execution error: revert", "worded"],
    ["no data but a message", undefined, "execution reverted: currency not support", "currency not support"],
    ["neither", undefined, "execution reverted", ""],
    ["empty data", "0x", "execution reverted", ""],
    ["too little of the coin", undefined, "insufficient funds for transfer", "insufficient funds for transfer"],
    ["what looks like a key", text(`key ${"ab".repeat(32)} end`), "execution reverted", "key [hidden] end"],
    ["several lines", text("two\nlines\u202e"), "execution reverted", "two lines"],
  ])("that is undone gives the contract's reason: %s", async (_name, data, message, reason) => {
    const { chain, settled } = await startChain(
      one({ eth_estimateGas: () => new RpcFault(-32_000, message, data) }, { errors: VAULT_ERRORS }),
    );
    expect(await settled(chain.estimateGas(CALL, OPTIONS))).toMatchObject({
      ok: true,
      value: { kind: "reverted", reason },
    });
  });

  it("knows errors of tokens by name, and others only where they are told", async () => {
    const abi = parseAbi(["error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)"]);
    const data = encodeErrorResult({
      abi,
      errorName: "ERC20InsufficientAllowance",
      args: [`0x${"11".repeat(20)}`, 1n, 2n],
    });
    const answers = [data, ofVault("ZeroAmount")];
    const { chain, settled } = await startChain(
      one({ eth_estimateGas: () => new RpcFault(3, "reverted", answers.shift()) }),
    );
    expect(await settled(chain.estimateGas(CALL, OPTIONS))).toMatchObject({
      value: { reason: `ERC20InsufficientAllowance(0x${"11".repeat(20)}, 1, 2)` },
    });
    expect(await settled(chain.estimateGas(CALL, OPTIONS))).toMatchObject({
      value: { reason: `error ${ofVault("ZeroAmount").slice(0, 10)}` },
    });
  });

  it("cuts a reason without an end", async () => {
    const { chain, settled } = await startChain(
      one({ eth_estimateGas: () => new RpcFault(3, "reverted", text("long ".repeat(50_000))) }),
    );
    const read = await settled(chain.estimateGas(CALL, OPTIONS));
    expect(read.ok && read.value.kind === "reverted" && read.value.reason.length).toBeLessThanOrEqual(300);
  });

  it.each<[string, Reply]>([
    ["an error of its own", () => new RpcFault(-32_603, "internal error")],
    ["less than any transaction takes", () => "0x5207"],
    ["more than a block holds", () => "0x1c9c381"],
  ])("is another endpoint's where the first answers %s", async (_name, reply) => {
    const { chain, settled } = await startChain(two({ eth_estimateGas: reply }, {}));
    expect(await settled(chain.estimateGas(CALL, OPTIONS))).toMatchObject({ value: { kind: "gas", gas: 60_000n } });
  });

  it("is refused where no contract is: a plain address takes any call and does nothing", async () => {
    const { chain, settled } = await startChain(one({ eth_getCode: () => "0x" }));
    const reverted = { ok: true, value: { kind: "reverted", reason: "no contract at this address" } };
    expect(await settled(chain.estimateGas(CALL, OPTIONS))).toMatchObject(reverted);
    const sendsCoins = { ...CALL, data: new Uint8Array(), value: 5n };
    expect(await settled(chain.estimateGas(sendsCoins, OPTIONS))).toMatchObject({ value: { kind: "gas" } });
  });

  it.each<[string, ChainCall, unknown, object]>([
    ["a transfer that returns nothing is done", TRANSFER, "0x", { kind: "gas" }],
    ["an approval that returns nothing is done", APPROVE, "0x", { kind: "gas" }],
    ["one that returns true is done", APPROVE, word(1), { kind: "gas" }],
    [
      "one that returns false is not",
      TRANSFER,
      word(0),
      { kind: "reverted", reason: "the token refuses without a reason" },
    ],
    [
      "one that is undone is not",
      TRANSFER,
      new RpcFault(3, "execution reverted", text("paused")),
      { kind: "reverted", reason: "paused" },
    ],
  ])("of a token's call, which is run too: %s", async (_name, call, answer, value) => {
    const { chain, settled } = await startChain(one({ eth_call: () => answer }));
    expect(await settled(chain.estimateGas(call, OPTIONS))).toMatchObject({ ok: true, value });
  });

  it("of a token's call is not made of half a word", async () => {
    const { chain, settled } = await startChain(one({ eth_call: () => "0x01" }));
    expect(await settled(chain.estimateGas(APPROVE, OPTIONS))).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
  });
});

const RAW = Uint8Array.of(2, 0xc0);
const HASH = keccak256(RAW);
const says = (message: string): Record<string, Reply> => ({
  eth_sendRawTransaction: () => new RpcFault(-32_000, message),
});
const takes = { eth_sendRawTransaction: () => HASH };

describe("a broadcast", () => {
  it("goes to every endpoint, and is taken where one of them takes it", async () => {
    const { chain, endpoints, settled } = await startChain(two(says("insufficient funds"), takes));
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toEqual({ kind: "taken" });
    for (const endpoint of endpoints) expect(endpoint.calls.at(-1)?.params).toEqual([toHex(RAW)]);
  });

  it.each([
    "already known",
    "AlreadyKnown",
    "known transaction: 0x12",
    "transaction already imported",
    "ALREADY_EXISTS: already known",
    "nonce too low",
    "nonce too low: next nonce 8, tx nonce 7",
    "nonce too high",
    "replacement transaction underpriced",
    "transaction underpriced",
    "max fee per gas less than block base fee",
    "invalid transaction nonce: nonce too low",
    "txpool is full",
    "internal error",
    "",
  ])("is unknown, never refused, where both say: %s", async (message) => {
    const { chain, settled } = await startChain(two(says(message), says(message)));
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toEqual({ kind: "unknown" });
  });

  it.each([
    "insufficient funds for gas * price + value: balance 0, tx cost 1",
    "intrinsic gas too low",
    "exceeds block gas limit",
    "invalid sender",
    "invalid chain id for signer",
    "rlp: expected input list for types.LegacyTx",
    "Failed to decode signed transaction",
    "transaction type not supported",
    "max priority fee per gas higher than max fee per gas",
    "oversized data",
  ])("is refused where both say: %s", async (message) => {
    const { chain, settled } = await startChain(two(says(message), says(message)));
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toEqual({ kind: "refused", reason: message });
  });

  it("is refused by the only endpoint that is configured, but not by one of two", async () => {
    const alone = await startChain(one(says("insufficient funds")));
    expect(await alone.settled(alone.chain.broadcast(RAW, OPTIONS))).toMatchObject({ kind: "refused" });
    const { chain, endpoints, settled } = await startChain(two(says("insufficient funds"), {}));
    endpoints[1]?.stop();
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toEqual({ kind: "unknown" });
  });

  it("is refused by two though the third cannot be reached: nothing was sent to it", async () => {
    const refusing = says("insufficient funds");
    const { chain, endpoints, settled } = await startChain({
      ...{ heads: [100, 100, 100], replies: { 0: refusing, 1: refusing } },
    });
    endpoints[2]?.stop();
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toMatchObject({ kind: "refused" });
  });

  it.each<[string, Reply]>([
    ["cuts the connection", () => CUT],
    ["answers another hash", () => word(1)],
    ["answers no hash", () => null],
    ["answers a page", () => new RawBody("<html>", 502)],
    ["already has it", () => new RpcFault(-32_000, "already known")],
  ])("is unknown where one refuses it and the other %s", async (_name, reply) => {
    const { chain, settled } = await startChain(two(says("insufficient funds"), { eth_sendRawTransaction: reply }));
    expect(await settled(chain.broadcast(RAW, OPTIONS))).toEqual({ kind: "unknown" });
  });

  it("is unknown where an endpoint does not answer in time", async () => {
    const { chain, endpoints, afterHang } = await startChain(one({ eth_sendRawTransaction: () => HANG }));
    const sent = chain.broadcast(RAW, OPTIONS);
    const hasArrived = () => endpoints[0]?.countOf("eth_sendRawTransaction") === 1;
    expect(await afterHang(sent, hasArrived, 3_000)).toEqual({ kind: "unknown" });
  });
});

describe("a token", () => {
  it("is asked by the standard's calls at the latest block", async () => {
    const { chain, endpoints, settled } = await startChain(one({ eth_call: () => word(18) }));
    expect(await settled(chain.tokenBalance(TOKEN, SENDER, OPTIONS))).toMatchObject({ value: 18n });
    expect(await settled(chain.allowance(TOKEN, SENDER, OTHER, OPTIONS))).toMatchObject({ value: 18n });
    expect(await settled(chain.tokenDecimals(TOKEN, OPTIONS))).toMatchObject({ value: 18 });
    const padded = (address: string) => address.slice(2).padStart(64, "0");
    expect(endpoints[0]?.calls.slice(-3).map(({ params }) => params)).toEqual(
      [`0x70a08231${padded(SENDER)}`, `0xdd62ed3e${padded(SENDER)}${padded(OTHER)}`, "0x313ce567"].map((data) => [
        { to: TOKEN, data },
        "latest",
      ]),
    );
  });

  it.each([
    ["nothing, as an address without a contract does", "0x"],
    ["less than a word", "0x01"],
    ["two words", `${word(1)}${word(2).slice(2)}`],
    ["an odd digit", "0x1"],
  ])("has no balance where the answer is %s", async (_name, answer) => {
    const { chain, settled } = await startChain(one({ eth_call: () => answer }));
    expect(await settled(chain.tokenBalance(TOKEN, SENDER, OPTIONS))).toMatchObject({
      ok: false,
      code: "BAD_RESPONSE",
    });
  });

  it("is asked for its decimals once, and again only after a failure", async () => {
    const answers: unknown[] = [word(78), word(6)];
    const { chain, endpoints, settled } = await startChain(one({ eth_call: () => answers.shift() ?? CUT }));
    expect(await settled(chain.tokenDecimals(TOKEN, OPTIONS))).toMatchObject({ ok: false, code: "BAD_RESPONSE" });
    for (let round = 0; round < 3; round++)
      expect(await settled(chain.tokenDecimals(TOKEN, OPTIONS))).toMatchObject({ ok: true, value: 6 });
    expect(endpoints[0]?.countOf("eth_call")).toBe(2);
  });
});
