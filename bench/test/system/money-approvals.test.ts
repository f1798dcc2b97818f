/**
 * Money of wallets whose keys an outside signer holds, while its people think: 202, and then the transfer goes on by
 * itself, or has failed; a service that dies meanwhile asks for nothing twice. The signer counts what it was asked for.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Hex, parseUnits } from "viem";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { buildSignerContract } from "../../../schemas/signer-openapi.js";
import type { Decision } from "../../sim/signer/signer-model.js";
import { LocalSigner } from "../../sim/signer/signer-server.js";
import { onceServed, toldBy, type WalletFields } from "../support/custody-bench.js";
import { type Ask, asked, codeOf, done, type RowFields, rowsOf, rowWhen } from "../support/money-asks.js";
import { depositsOnChain, payoutsOnChain, withdrawalsTaken } from "../support/money-books.js";
import { ALLOWED, type MoneyService, MoneyStand } from "../support/money-stand.js";
import { found } from "../support/system.js";

vi.setConfig({ testTimeout: 900_000 });
const TOKEN = "a-token-of-this-test-0123456789";
const PEOPLE: Decision = { kind: "people" };
const APPROVED: Decision = { kind: "approve" };
const REFUSED: Decision = { kind: "refuse", refusal: { reason: "PEOPLE" } };

let stand: MoneyStand;
let signer: LocalSigner;
let folder: string;
let begun: MoneyService | null = null;
let serial = 0;

beforeAll(async () => {
  stand = await MoneyStand.start(53);
  folder = mkdtempSync(join(tmpdir(), "unwind-approvals-"));
  writeFileSync(join(folder, "token"), TOKEN, { mode: 0o600 });
  signer = await LocalSigner.start({ contract: buildSignerContract(), token: TOKEN });
}, 600_000);
afterEach(() => {
  signer.model.decision = () => APPROVED;
});
afterAll(async () => {
  await stand.stop();
  await signer.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function service(): Promise<MoneyService> {
  begun ??= await stand.beginOutside("money-approvals", {
    WALLET_PROVIDER: "https",
    WALLET_PROVIDER_URL: signer.url,
    WALLET_PROVIDER_TOKEN_FILE: join(folder, "token"),
  });
  return begun;
}

const keyed = (ask: Omit<Ask, "headers">, headers = {}): Ask => ({
  ...ask,
  headers: { "idempotency-key": `approvals-${serial++}`, ...headers },
});

async function depositor(): Promise<{ readonly wallet: WalletFields; readonly ask: Ask }> {
  const wallet = await (await service()).wallet(`approvals-${serial++}`);
  const { walletId: walletIdOrAddress, address } = wallet;
  await stand.world.mint({ chainId: 56, token: "USDT", to: address as Hex, amount: "100" });
  const body = { walletIdOrAddress, tokenSymbol: "USDT", amount: "30", network: "56" };
  return { wallet, ask: keyed({ path: "/api/trading/venuetwo/deposit", body }) };
}

async function withdrawer(): Promise<{ readonly wallet: WalletFields; readonly ask: Ask }> {
  const wallet = await (await service()).wallet(`approvals-${serial++}`);
  stand.pair.venueone.addAccount({ address: wallet.address.toLowerCase(), deposit: "100" });
  const body = {
    walletIdOrAddress: wallet.walletId,
    destination: ALLOWED,
    amount: `20.${100 + serial}`,
    chainId: 42161,
  };
  return { wallet, ask: keyed({ path: "/api/trading/venueone/withdraw", body }, { "x-wallet-id": wallet.walletId }) };
}

const ask = async (one: Ask) => onceServed(async () => asked((await service()).caller, one));
const rowUntil = async (wallet: WalletFields, what: string, holds: (row: RowFields) => boolean) =>
  rowWhen((await service()).caller, wallet, what, holds);
const effects = ({ address }: WalletFields) => depositsOnChain(stand, { chainId: 56, venue: "venuetwo", address });
/** Signatures of transfers that the signer was asked for; a new wallet's first one is a test. */
const signatures = () => signer.model.requests.filter(({ body }) => body !== null && body.origin !== "test").length;

async function pending(wallet: WalletFields, one: Ask): Promise<string> {
  const reply = await ask(one);
  expect(codeOf(reply)).toEqual([202, "APPROVAL_PENDING"]);
  const [row] = await rowsOf((await service()).caller, wallet);
  expect(row).toMatchObject({ state: "created", transferId: toldBy(reply).details?.["transferId"] });
  return row?.transferId ?? "";
}

/** A deposit and a withdrawal that wait for people at the same time, so that a decision and a kill meet both. */
async function pendingOfEachKind() {
  const [deposit, withdrawal] = [await depositor(), await withdrawer()];
  signer.model.decision = () => PEOPLE;
  const wait = async (of: typeof deposit) => ({ ...of, transferId: await pending(of.wallet, of.ask) });
  return Promise.all([wait(deposit), wait(withdrawal)] as const);
}

/** It has failed as not signed, and nothing has moved. */
async function isRefused(wallet: WalletFields): Promise<void> {
  const row = await rowUntil(wallet, "has failed", ({ state }) => state === "failed");
  expect(row).toMatchObject({ reason: "NOT_SIGNED" });
  expect(await effects(wallet)).toEqual([]);
  expect(withdrawalsTaken(stand.pair, "venueone", wallet.address)).toBe(0);
}

async function killedAndStarted(decision: Decision): Promise<void> {
  const one = await service();
  await one.kill();
  signer.model.decision = () => APPROVED;
  signer.model.decide(decision);
  await one.start();
}

describe("a transfer that people must approve", () => {
  it("is a deposit that goes on once they have, though nobody asks again", async () => {
    const { wallet, ask: one } = await depositor();
    const before = signatures();
    signer.model.decision = () => PEOPLE;
    const transferId = await pending(wallet, one);
    expect(codeOf(await ask(one))).toEqual([202, "APPROVAL_PENDING"]);
    signer.model.decision = () => APPROVED;
    signer.model.decide(APPROVED);
    await rowUntil(wallet, "is confirmed", ({ state }) => state === "confirmed");
    expect(done(await ask(one))["transferId"]).toBe(transferId);
    expect(await effects(wallet)).toEqual([parseUnits("30", 18)]);
    expect(signatures() - before).toBe(2);
  });

  it("is a deposit or a withdrawal that has failed where they refuse, and moves nothing", async () => {
    const both = await pendingOfEachKind();
    // Whoever asks once more would get it: a refusal is not to be asked about again.
    signer.model.decision = () => APPROVED;
    signer.model.decide(REFUSED);
    for (const { wallet } of both) await isRefused(wallet);
  });

  it("is a deposit whose second signature they refuse: the approval stays, and the money too", async () => {
    const { wallet, ask: one } = await depositor();
    const before = signatures();
    signer.model.decision = () => (signatures() - before === 1 ? APPROVED : PEOPLE);
    const reply = ask(one);
    await found("people are asked", async () => (signatures() - before === 2 ? true : null));
    signer.model.decision = () => REFUSED;
    signer.model.decide(REFUSED);
    expect((await reply).status).toBe(403);
    const row = await rowUntil(wallet, "has failed", ({ state }) => state === "failed");
    expect(row).toMatchObject({
      reason: "NOT_SIGNED",
      steps: [{ name: "approve", succeeded: true }, { txHash: null }],
    });
    expect(await effects(wallet)).toEqual([]);
  });

  it("is a withdrawal that is sent once they have", async () => {
    const { wallet, ask: one } = await withdrawer();
    signer.model.decision = () => PEOPLE;
    const transferId = await pending(wallet, one);
    expect(withdrawalsTaken(stand.pair, "venueone", wallet.address)).toBe(0);
    signer.model.decision = () => APPROVED;
    signer.model.decide(APPROVED);
    await rowUntil(wallet, "is paid", ({ payout }) => payout === "completed");
    expect(done(await ask(one))["transferId"]).toBe(transferId);
    expect(withdrawalsTaken(stand.pair, "venueone", wallet.address)).toBe(1);
  });
});

describe("a service that is killed while people think", () => {
  it("goes on with the deposit and the withdrawal that they approved meanwhile, and asks for each once", async () => {
    const before = signatures();
    const both = await pendingOfEachKind();
    await killedAndStarted(APPROVED);
    for (const { wallet, ask: one, transferId } of both) {
      await rowUntil(wallet, "is done", ({ state }) => state === "confirmed");
      expect(done(await ask(one))["transferId"]).toBe(transferId);
    }
    const [deposit, withdrawal] = both;
    expect(await effects(deposit.wallet)).toEqual([parseUnits("30", 18)]);
    expect(withdrawalsTaken(stand.pair, "venueone", withdrawal.wallet.address)).toBe(1);
    const net = parseUnits(String(withdrawal.ask.body["amount"]), 6) - parseUnits("1", 6);
    const to = { chainId: 42161, venue: "venueone", to: ALLOWED } as const;
    expect((await payoutsOnChain(stand, to)).filter((paid) => paid === net).length).toBeLessThan(2);
    // A deposit needs two, a withdrawal one, and both are done.
    expect(signatures() - before).toBe(3);
    expect(signer.problems).toEqual([]);
  });

  it("ends the deposit and the withdrawal that they refused meanwhile, and moves nothing", async () => {
    const both = await pendingOfEachKind();
    await killedAndStarted(REFUSED);
    for (const { wallet } of both) await isRefused(wallet);
  });
});
