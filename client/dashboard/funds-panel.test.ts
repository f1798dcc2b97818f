/** What the funds panel and its dialog show and send. The elements are plain objects; the page itself is in bench/test/system. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FundRoute } from "../../schemas/page-facts.js";
import { type FakeDocument, type FakeNode, installDocument } from "../test/fake-document.js";
import { type PageRequest, pageCalls } from "../test/page-calls.js";
import type { SubscribeParams, SubscriptionListener } from "../stream/state.js";
import type { TransfersData } from "../stream/topics.js";
import { FundsPanel } from "./funds-panel.js";

const ROUTES: readonly FundRoute[] = [
  {
    ...{ exchange: "venuetwo", asset: "USDT", chainId: 56, network: "network_56", decimals: 18 },
    ...{ paysOut: true, hasAccounts: true },
  },
  {
    ...{ exchange: "venueone", asset: "USDC", chainId: 42161, network: "network_42161", decimals: 6 },
    ...{ paysOut: true, hasAccounts: false },
  },
];
const wallet = (index: number) => ({
  ...{ walletId: `w${index}`, userId: `user ${index}`, address: `0x${String(index).padStart(40, "0")}` },
  ...{ publicKey: "0x02", createdAt: 1, state: "ACTIVE" as const, epoch: 1, exchanges: [] },
});
const transfer = (transferId: string, state: string) => ({
  ...{ transferId, kind: "deposit", exchange: "venuetwo", walletId: "w1", address: "0x1", state, reason: null },
  ...{
    reasonText: "",
    createdAt: Number(transferId.slice(1)),
    updatedAt: 0,
    asset: "USDT",
    amount: "5",
    venueId: null,
    chainId: 56,
  },
  ...{ network: "network_56", txHash: null, txUrl: "", steps: [], isCreditAwaited: false, receiver: null },
  ...{ accountType: null, fee: null, payout: null, paid: null, kindType: null, clientTranId: null },
});
const ok = (data: object) => ({ success: true, data, timestamp: 1 });
const refusal = (code: string, error: string, details = {}) => ({ success: false, code, error, details });
const CHECK = { minimum: "1", available: "1000", gas: { needed: "0.01", available: "1" }, steps: ["deposit"] };
const deposited = (status: string) => ok({ txHash: null, decimals: 18, transferId: "t1", status });

let page: FakeDocument;
let asked: PageRequest[];
let held: () => object | null;
let listed: () => object | null;
/** Of the acts; the body says whether it is a dry run. */
let act: (request: PageRequest) => object | null | Promise<object | null>;
let followed: { readonly params: SubscribeParams; readonly listener: SubscriptionListener; readonly isLeft: boolean }[];

beforeEach(() => {
  vi.useFakeTimers();
  page = installDocument();
  asked = [];
  followed = [];
  held = () => ok({ walletId: "w1", address: "0x1", chains: [], venues: [] });
  listed = () => ok({ transfers: [], nextCursor: null });
  act = ({ body }) =>
    body["dryRun"] === true ? ok({ txHash: null, status: "DRY_RUN", check: CHECK }) : deposited("broadcast");
});
afterEach(async () => {
  // A reply that comes later finds no page.
  await page.settled();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function shown(count = 2, isServed = true): Promise<FundsPanel> {
  const api = pageCalls((request) => {
    asked.push(request);
    if (request.path.endsWith("/balances")) return held();
    if (request.path.endsWith("/transfers")) return listed();
    return act(request);
  });
  const stream = {
    subscribe(params: SubscribeParams, listener: SubscriptionListener) {
      followed.push({ params, listener, isLeft: false });
      const at = followed.length - 1;
      return () => void Object.assign(followed[at] ?? {}, { isLeft: true });
    },
  };
  const panel = new FundsPanel(api, stream, () => {});
  if (isServed) panel.show(ROUTES);
  panel.setWallets(Array.from({ length: count }, (_, index) => wallet(index + 1)));
  await page.settled();
  return panel;
}

const cells = (selector: string): string[][] =>
  page
    .node(selector)
    .children.map((row: FakeNode) => row.children.map((cell) => cell.children[0]?.textContent ?? cell.textContent));
const said = (selector: string) => [page.node(selector).textContent, page.node(selector).dataset["kind"]];
const reads = () => asked.filter(({ method }) => method === "GET").length;
const acts = () => asked.filter(({ method, body }) => method === "POST" && body["dryRun"] !== true);

async function typed(amount: string): Promise<void> {
  page.node("#funds-amount").value = amount;
  page.node("#funds-amount").dispatch("input");
  await vi.advanceTimersByTimeAsync(300);
  await page.settled();
}
async function submitted(): Promise<void> {
  page.node("#funds-form").dispatch("submit");
  await page.settled();
}

describe("the funds of a wallet", () => {
  it("are not asked for where the service has no money, and are once it says that it has", async () => {
    const panel = await shown(1, false);
    expect([reads(), followed.length]).toEqual([0, 0]);
    panel.show(ROUTES);
    await page.settled();
    expect([reads(), followed.length]).toEqual([2, 1]);
  });

  it("are those of the wallet that is picked, and no reply for another one is shown", async () => {
    let reply = (_: object): void => {};
    held = () =>
      ok({
        chains: [],
        venues: [{ exchange: "venueone", balances: [{ accountType: "perp", asset: "USDC", free: "7" }] }],
      });
    await shown();
    expect(cells("#funds-held")).toEqual([["venueone perp", "USDC", "7"]]);
    expect(cells("#funds-wallet").length).toBe(2);
    held = () => new Promise((resolve) => (reply = resolve)) as never;
    page.node("#funds-wallet").value = "w2";
    page.node("#funds-wallet").dispatch("change");
    await page.settled();
    expect(asked.at(-1)?.path).toBe("/api/wallets/w2/transfers");
    expect(cells("#funds-held")).toEqual([]);
    const late = reply;
    held = () => ok({ chains: [], venues: [] });
    page.node("#funds-wallet").value = "w1";
    page.node("#funds-wallet").dispatch("change");
    late(
      ok({
        chains: [],
        venues: [{ exchange: "venuetwo", balances: [{ accountType: "spot", asset: "USDT", free: "9" }] }],
      }),
    );
    await page.settled();
    expect(cells("#funds-held")).toEqual([]);
  });

  it("are read again every few seconds while a transfer may yet change, and not after that", async () => {
    let state = "broadcast";
    listed = () => ok({ transfers: [transfer("t2", state), transfer("t1", "failed")], nextCursor: null });
    await shown();
    expect(cells("#funds-transfers").map(([, , , text]) => text)).toEqual(["BROADCAST", "FAILED"]);
    expect(reads()).toBe(2);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads()).toBe(4);
    state = "confirmed";
    await vi.advanceTimersByTimeAsync(3_000);
    await page.settled();
    expect(cells("#funds-transfers").map(([, , , text]) => text)).toEqual(["CONFIRMED", "FAILED"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reads()).toBe(6);
  });

  it("go on from the cursor, and keep the older rows when the newest are read again", async () => {
    listed = () => ok({ transfers: [transfer("t2", "broadcast")], nextCursor: "c" });
    await shown();
    listed = () => ok({ transfers: [transfer("t1", "failed")], nextCursor: null });
    page.press("#funds-more");
    await page.settled();
    expect([cells("#funds-transfers").length, page.node("#funds-more").hidden]).toEqual([2, true]);
    listed = () => ok({ transfers: [transfer("t3", "created"), transfer("t2", "confirmed")], nextCursor: "d" });
    page.press("#funds-again");
    await page.settled();
    expect(cells("#funds-transfers").map(([, , , text]) => text)).toEqual(["CREATED", "CONFIRMED", "FAILED"]);
  });

  it("say what the service refuses, and are gone when nobody is signed in", async () => {
    held = () => refusal("SCOPE_MISSING", "The API key lacks the scope read");
    listed = () => ok({ transfers: [transfer("t1", "failed")], nextCursor: null });
    const panel = await shown();
    expect(said("#funds-said")).toEqual(["The API key lacks the scope read.", "bad"]);
    expect(cells("#funds-transfers")).toHaveLength(1);
    panel.setWallets([]);
    expect([cells("#funds-transfers"), page.node("#funds-deposit").disabled]).toEqual([[], true]);
    expect(page.node("#funds-held-empty").textContent).toBe("No wallet is shown.");
  });
});

describe("the stream", () => {
  const heard = (rows: readonly object[], isEvent: boolean, current = true) => {
    const transfers = new Map(rows.map((row) => [(row as { transferId: string }).transferId, row]));
    const event = isEvent ? { event: "transfer.changed", transfer: rows[0] } : null;
    const data = { topic: "transfers", symbol: "", transfers, event } as unknown as TransfersData;
    followed.at(-1)?.listener.changed({ data, current, tsMs: 0, heardMs: 0 } as never);
  };
  const states = () => cells("#funds-transfers").map(([, , , text]) => text);

  it("shows each change of the wallet that is picked, and balances are read behind it; nothing is read in between", async () => {
    await shown();
    expect(followed.map(({ params }) => params)).toEqual([{ topic: "transfers", walletIdOrAddress: "w1" }]);
    heard([transfer("t2", "broadcast"), transfer("t1", "failed")], false);
    expect(states()).toEqual(["BROADCAST", "FAILED"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reads()).toBe(2);
    heard([transfer("t2", "confirmed"), transfer("t1", "failed")], true);
    heard([transfer("t3", "created"), transfer("t2", "confirmed")], true);
    await page.settled();
    expect(states()).toEqual(["CREATED", "CONFIRMED", "FAILED"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.slice(2).map(({ path }) => path)).toEqual(["/api/wallets/w1/balances"]);
    page.node("#funds-wallet").value = "w2";
    page.node("#funds-wallet").dispatch("change");
    expect(followed.map(({ params, isLeft }) => [params.walletIdOrAddress, isLeft])).toEqual([
      ["w1", true],
      ["w2", false],
    ]);
  });

  it("has balances read once in three seconds, however many changes a transfer has, and again for the last of them", async () => {
    await shown();
    for (let change = 0; change < 8; change++) {
      heard([transfer("t1", "broadcast")], true);
      await page.settled();
    }
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads()).toBe(3);
    let reply = (_: object): void => {};
    held = () => new Promise((resolve) => (reply = resolve)) as never;
    heard([transfer("t1", "broadcast")], true);
    await vi.advanceTimersByTimeAsync(3_000);
    heard([transfer("t1", "confirmed")], true);
    reply(ok({ chains: [], venues: [] }));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads()).toBe(5);
  });

  it("shows what it has over a list and balances that were asked for before", async () => {
    const replies: ((reply: object) => void)[] = [];
    const later = () => new Promise((resolve) => replies.push(resolve)) as never;
    const heldOf = (free: string) =>
      ok({ chains: [], venues: [{ exchange: "venueone", balances: [{ accountType: "perp", asset: "USDC", free }] }] });
    await shown();
    held = later;
    heard([transfer("t1", "broadcast")], true);
    await vi.advanceTimersByTimeAsync(3_000);
    listed = later;
    page.press("#funds-again");
    await page.settled();
    heard([transfer("t1", "confirmed")], true);
    const [older, newer, list] = replies;
    list?.(ok({ transfers: [transfer("t1", "broadcast")], nextCursor: null }));
    newer?.(heldOf("2"));
    await page.settled();
    older?.(heldOf("1"));
    await page.settled();
    expect([states(), cells("#funds-held")]).toEqual([["CONFIRMED"], [["venueone perp", "USDC", "2"]]]);
  });

  it("that is lost shows nothing over what is read then", async () => {
    listed = () => ok({ transfers: [transfer("t1", "broadcast")], nextCursor: null });
    await shown();
    heard([transfer("t1", "broadcast")], false);
    heard([transfer("t1", "broadcast")], false, false);
    listed = () => ok({ transfers: [transfer("t1", "confirmed")], nextCursor: null });
    await vi.advanceTimersByTimeAsync(3_000);
    heard([transfer("t1", "broadcast")], false, false);
    expect(states()).toEqual(["CONFIRMED"]);
  });

  it("that is lost or refused is made up for by reading", async () => {
    listed = () => ok({ transfers: [transfer("t1", "broadcast")], nextCursor: null });
    await shown();
    heard([transfer("t1", "broadcast")], false);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(reads()).toBe(2);
    heard([transfer("t1", "broadcast")], false, false);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads()).toBe(4);
    heard([transfer("t1", "broadcast")], false);
    followed.at(-1)?.listener.refused?.("AUTH_REQUIRED", "An API key is required");
    await vi.advanceTimersByTimeAsync(3_000);
    expect(reads()).toBe(6);
  });
});

describe("an act", () => {
  it("shows its dry run, and sends what was checked, with a key", async () => {
    await shown();
    page.press("#funds-deposit");
    expect(page.node("#funds-go").disabled).toBe(true);
    await typed("5.5");
    const wish = { walletIdOrAddress: "w1", tokenSymbol: "USDT", amount: "5.5", network: "network_56" };
    expect(asked.at(-1)).toMatchObject({ path: "/api/trading/venuetwo/deposit", idempotencyKey: null });
    expect(asked.at(-1)?.body).toEqual({ ...wish, dryRun: true });
    expect(
      page.node("#funds-check").children.map((pair) => pair.children.map(({ textContent }) => textContent)),
    ).toEqual([
      ["Gas, at most", "0.01 coins of 1"],
      ["Transactions", "deposit"],
      ["Minimum", "1 USDT"],
      ["Available", "1000 USDT"],
    ]);
    await submitted();
    expect(acts()).toMatchObject([{ body: wish, idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
    expect(said("#funds-dialog-said")).toEqual(["Deposit of 5.5 USDT: broadcast.", "good"]);
    // Read again behind it.
    expect(reads()).toBe(4);
    expect(page.node("#funds-go").disabled).toBe(true);
  });

  it("is one for two presses, and the second amount has another key", async () => {
    await shown();
    page.press("#funds-deposit");
    await typed("5");
    page.node("#funds-form").dispatch("submit");
    page.node("#funds-form").dispatch("submit");
    await page.settled();
    await submitted();
    expect(acts()).toHaveLength(1);
    await typed("6");
    await submitted();
    expect(acts().map(({ body }) => body["amount"])).toEqual(["5", "6"]);
    expect(new Set(acts().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  });

  it("whose reply is lost is sent again with its key and its bytes alone, also after the dialog was left", async () => {
    await shown();
    const checked = act;
    act = (request) => (request.body["dryRun"] === true ? checked(request) : null);
    page.press("#funds-deposit");
    await typed("5");
    await submitted();
    expect(said("#funds-dialog-said")).toEqual([
      ...["No answer: it may have been done. Try again. It is the same one.", "open"],
    ]);
    expect([page.node("#funds-amount").disabled, page.node("#funds-go").textContent]).toEqual([true, "Send it again"]);
    page.press("#funds-leave");
    page.press("#funds-deposit");
    expect([page.node("#funds-amount").value, page.node("#funds-amount").disabled]).toEqual(["5", true]);
    act = checked;
    await submitted();
    const [first, second, ...more] = acts();
    expect([second?.idempotencyKey, second?.body, more]).toEqual([first?.idempotencyKey, first?.body, []]);
    expect(said("#funds-dialog-said")).toEqual(["Deposit of 5 USDT: broadcast.", "good"]);
    expect(page.node("#funds-amount").disabled).toBe(false);
    // Of another wallet there is nothing to send again.
    page.press("#funds-leave");
    page.press("#funds-deposit");
    expect(page.node("#funds-amount").value).toBe("");
  });

  it("that is refused says why and can be changed; a changed form is checked before it is sent", async () => {
    await shown();
    act = () => refusal("INSUFFICIENT_BALANCE", "Insufficient balance for deposit");
    page.press("#funds-deposit");
    await typed("5000");
    expect([said("#funds-dialog-said"), page.node("#funds-go").textContent]).toEqual([
      ...[["Insufficient balance for deposit.", "bad"], "Check again"],
    ]);
    const dryRuns = asked.length;
    await submitted();
    await vi.advanceTimersByTimeAsync(300);
    await page.settled();
    expect([asked.length, acts()]).toEqual([dryRuns + 1, []]);
    act = ({ body }) =>
      body["dryRun"] === true
        ? ok({ status: "DRY_RUN", check: CHECK })
        : refusal("INVALID_PARAMETERS", "Invalid request parameters", {
            fields: [{ path: "amount", problem: "is too fine" }],
          });
    await typed("5");
    page.node("#funds-amount").value = "6";
    page.node("#funds-amount").dispatch("input");
    await submitted();
    expect(acts()).toEqual([]);
    await vi.advanceTimersByTimeAsync(300);
    await page.settled();
    await submitted();
    expect(acts()).toHaveLength(1);
    expect([said("#funds-dialog-said"), page.node("#funds-amount").disabled]).toEqual([
      ...[["amount is too fine.", "bad"], false],
    ]);
  });

  it("with an amount that is none asks the service nothing", async () => {
    await shown();
    page.press("#funds-withdraw");
    const before = asked.length;
    for (const text of ["1e3", "0", "1.0000000000000000001"]) await typed(text);
    expect([asked.length, said("#funds-dialog-said")[0]]).toEqual([before, "USDT has at most 18 decimal places."]);
  });

  it("of venueone names the wallet in its header, and of unknown outcome is no success", async () => {
    await shown();
    page.press("#funds-withdraw");
    page.node("#funds-way").value = "2";
    act = ({ body }) =>
      body["dryRun"] === true
        ? ok({ status: "DRY_RUN", fee: "1", feeIsInside: true, check: { minimum: "2", available: "9" } })
        : ok({ status: "UNKNOWN", transferId: "t1" });
    await typed("5");
    await submitted();
    expect(acts()).toMatchObject([
      {
        path: "/api/trading/venueone/withdraw",
        body: { walletIdOrAddress: "w1", destination: wallet(1).address, amount: "5", chainId: 42161 },
      },
    ]);
    expect(said("#funds-dialog-said")).toEqual(["Withdrawal of 5 USDC: unknown.", "open"]);
  });

  it("of another key's wallet is forgotten with it", async () => {
    const panel = await shown();
    const checked = act;
    act = (request) => (request.body["dryRun"] === true ? checked(request) : null);
    page.press("#funds-deposit");
    await typed("5");
    await submitted();
    panel.setWallets([]);
    panel.setWallets([wallet(1)]);
    await page.settled();
    page.press("#funds-deposit");
    expect([page.node("#funds-amount").value, page.node("#funds-go").textContent]).toEqual(["", "Deposit"]);
  });
});
