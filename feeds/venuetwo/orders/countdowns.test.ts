/** One account has one countdown, whichever of its keys armed it and whichever sends an order of a new symbol. */
import { expect, it } from "vitest";
import { BTC, createHarness, type Harness, OPTIONS, paramsOf, V1 } from "../test/trading-harness.js";
import { balancesOf, OTHER_KEY, placedAnswer, restingOrder } from "../test/two-keys.js";

const BALANCES = balancesOf("SgsR");
const OTHER_BALANCES = balancesOf("Other");
const COUNTDOWN = { symbol: "ETHUSDT", countdownTime: "6000" };
const RESTING = restingOrder();
const PLACED = placedAnswer();

/** As the desk does it: whose account it is, then the arm. Nothing rests yet. */
async function armed(): Promise<Harness> {
  const harness = createHarness();
  const armedBy = harness.open(V1);
  harness.http.reply(200, BALANCES).reply(200, []);
  await harness.trading.accountNames.read(armedBy, OPTIONS);
  await harness.trading.orders.scheduleCancel(armedBy, harness.clock.wallMs() + 10_000, OPTIONS);
  return harness;
}

const calls = ({ http }: Harness, from: number) =>
  http.requests.slice(from).map(({ path }) => /\/(balance|order|countdownCancelAll)\b/.exec(path)?.[1]);

it("a countdown follows an order that another key of the account sent, once that key is known for it", async () => {
  const harness = await armed();
  harness.http.reply(200, PLACED).reply(200, BALANCES).reply(200, COUNTDOWN);
  const other = harness.open(OTHER_KEY);
  await harness.trading.orders.place(other, RESTING, OPTIONS);
  other.close();
  await harness.clock.advanceAsync(1);
  expect(calls(harness, 2)).toEqual(["order", "balance", "countdownCancelAll"]);
  expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "10000" });
  // Known and covered by now: the next order needs no word.
  harness.http.reply(200, PLACED);
  await harness.trading.orders.place(harness.open(OTHER_KEY), { ...RESTING, clientIdHex: "e".repeat(32) }, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(harness.http.requests).toHaveLength(6);
});

it("a countdown follows no order of another account", async () => {
  const harness = await armed();
  harness.http.reply(200, PLACED).reply(200, OTHER_BALANCES);
  await harness.trading.orders.place(harness.open(OTHER_KEY), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(calls(harness, 2)).toEqual(["order", "balance"]);
});

it("a countdown is ended by another key of the account, and follows nothing then", async () => {
  const harness = await armed();
  const other = harness.open(OTHER_KEY);
  harness.http.reply(200, BALANCES).reply(200, []);
  await harness.trading.accountNames.read(other, OPTIONS);
  await harness.trading.orders.scheduleCancel(other, null, OPTIONS);
  harness.http.reply(200, PLACED);
  await harness.trading.orders.place(harness.open(V1), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(calls(harness, 4)).toEqual(["order"]);
});

it("a countdown ends in the symbols that another key of the account dealt in too: none of their orders is canceled later", async () => {
  const harness = await armed();
  harness.http.reply(200, PLACED).reply(200, BALANCES).reply(200, COUNTDOWN);
  await harness.trading.orders.place(harness.open(OTHER_KEY), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  // Its order is filled by now: nothing rests, and the venue still counts down.
  harness.http.reply(200, []).reply(500, "<html>");
  const armedBy = harness.open(V1);
  const { orders } = harness.trading;
  expect(await orders.scheduleCancel(armedBy, null, OPTIONS)).toMatchObject({ outcome: "unknown" });
  expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "0" });
  // Not confirmed: said again, and followed by nothing meanwhile.
  harness.http.reply(200, { ...PLACED, symbol: "BTCUSDT" });
  const other = { ...RESTING, instrument: BTC, clientIdHex: "d".repeat(32) };
  await orders.place(harness.open(OTHER_KEY), other, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(harness.http.requests).toHaveLength(8);
  harness.http.reply(200, []).reply(200, { ...COUNTDOWN, countdownTime: "0" });
  expect(await orders.scheduleCancel(armedBy, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
  expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "0" });
});

it("a countdown that was refused follows nothing: nobody would renew it or end it", async () => {
  const harness = createHarness();
  const { orders } = harness.trading;
  harness.http.reply(400, { code: -1003, msg: "Too many requests." });
  const atMs = harness.clock.wallMs() + 10_000;
  expect(await orders.scheduleCancel(harness.open(V1), atMs, OPTIONS)).toMatchObject({ outcome: "rejected" });
  harness.http.reply(200, PLACED);
  await orders.place(harness.open(V1), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(calls(harness, 0)).toEqual([undefined, "order"]);
});

it("a countdown that was refused leaves the one before: it is that time which new symbols get", async () => {
  const harness = await armed();
  const { orders } = harness.trading;
  harness.http.reply(400, { code: -1003, msg: "Too many requests." });
  harness.clock.advance(1_000);
  const atMs = harness.clock.wallMs() + 60_000;
  expect(await orders.scheduleCancel(harness.open(V1), atMs, OPTIONS)).toMatchObject({ outcome: "rejected" });
  harness.http.reply(200, PLACED).reply(200, COUNTDOWN);
  await orders.place(harness.open(V1), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "9000" });
});

it("a countdown is in doubt when its arm is refused after an order was followed meanwhile", async () => {
  const harness = createHarness();
  const { orders } = harness.trading;
  const armedBy = harness.open(V1);
  harness.http.step(async () => {
    harness.http.reply(200, PLACED).reply(200, COUNTDOWN);
    await orders.place(armedBy, RESTING, OPTIONS);
    await harness.clock.advanceAsync(1);
    return harness.http.response(400, { code: -1003, msg: "Too many requests." });
  });
  const atMs = harness.clock.wallMs() + 10_000;
  expect(await orders.scheduleCancel(armedBy, atMs, OPTIONS)).toMatchObject({ outcome: "unknown", cause: "PARTIAL" });
  expect(calls(harness, 1)).toEqual(["order", "countdownCancelAll"]);
});

it("a countdown is in doubt when its arm is refused while nobody knows whether an order was followed", async () => {
  const harness = createHarness();
  const { orders } = harness.trading;
  const armedBy = harness.open(V1);
  harness.http.step(async () => {
    harness.http.reply(200, PLACED).reply(500, "<html>");
    await orders.place(armedBy, RESTING, OPTIONS);
    await harness.clock.advanceAsync(1);
    return harness.http.response(400, { code: -1003, msg: "Too many requests." });
  });
  const atMs = harness.clock.wallMs() + 10_000;
  expect(await orders.scheduleCancel(armedBy, atMs, OPTIONS)).toMatchObject({ outcome: "unknown", cause: "PARTIAL" });
  expect(calls(harness, 1)).toEqual(["order", "countdownCancelAll"]);
});

it("the end of a countdown reverts what another key's order had it count down, also where nothing is open any more", async () => {
  const harness = await armed();
  harness.http.reply(200, PLACED).reply(200, BALANCES).reply(200, COUNTDOWN);
  await harness.trading.orders.place(harness.open(OTHER_KEY), RESTING, OPTIONS);
  await harness.clock.advanceAsync(1);
  expect(calls(harness, 2)).toEqual(["order", "balance", "countdownCancelAll"]);
  // Refused once: it still runs at the venue, and the next end stops it.
  for (const answer of [
    { code: -1003, msg: "too many" },
    { symbol: "ETHUSDT", countdownTime: "0" },
  ]) {
    const before = harness.http.requests.length;
    harness.http.reply(200, []).reply("code" in answer ? 429 : 200, answer);
    const ended = await harness.trading.orders.scheduleCancel(harness.open(V1), null, OPTIONS);
    expect(
      harness.http.requests.slice(before).map(({ path }) => /(openOrders|countdownCancelAll)/.exec(path)?.[1]),
    ).toEqual(["openOrders", "countdownCancelAll"]);
    expect(paramsOf(harness.http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "0" });
    expect(ended.outcome).toBe("code" in answer ? "rejected" : "accepted");
  }
});

it("a countdown is stopped after what follows an order and is under way when it ends: that may come to the venue later", async () => {
  const harness = await armed();
  const { clock, http, trading } = harness;
  let answer = (): void => {};
  http.reply(200, PLACED).step(
    () =>
      new Promise((resolve) => {
        answer = () => resolve(http.response(200, COUNTDOWN));
      }),
  );
  await trading.orders.place(harness.open(V1), RESTING, OPTIONS);
  await clock.advanceAsync(1);
  expect(calls(harness, 2)).toEqual(["order", "countdownCancelAll"]);
  const stopped = { ...COUNTDOWN, countdownTime: "0" };
  http.reply(200, []).reply(200, stopped).reply(200, stopped);
  let outcome: string | null = null;
  const ended = trading.orders.scheduleCancel(harness.open(V1), null, OPTIONS).then((result) => {
    outcome = result.outcome;
  });
  await clock.advanceAsync(100);
  // Nothing is ended while it may still begin.
  expect(outcome).toBeNull();
  answer();
  await clock.advanceAsync(100);
  await ended;
  expect(outcome).toBe("accepted");
  expect(http.requests.slice(5).map((request) => paramsOf(request)["countdownTime"])).toEqual(["0", "0"]);
});

it("a countdown ends also what followed another key's order and was never answered", async () => {
  const harness = await armed();
  const { clock, http, trading } = harness;
  http.reply(200, PLACED).reply(200, BALANCES).reply(500, "<html>");
  await trading.orders.place(harness.open(OTHER_KEY), RESTING, OPTIONS);
  await clock.advanceAsync(1);
  expect(calls(harness, 2)).toEqual(["order", "balance", "countdownCancelAll"]);
  http.reply(200, []).reply(200, { ...COUNTDOWN, countdownTime: "0" });
  const ended = await trading.orders.scheduleCancel(harness.open(V1), null, OPTIONS);
  expect(ended).toMatchObject({ outcome: "accepted", symbols: ["ETHUSDT"] });
  expect(paramsOf(http.last)).toMatchObject({ symbol: "ETHUSDT", countdownTime: "0" });
});

/** The next answer is given when the returned function is called. */
function heldBack({ http }: Harness, body: unknown): () => void {
  let answer = (): void => {};
  http.step(
    () =>
      new Promise((resolve) => {
        answer = () => resolve(http.response(200, body));
      }),
  );
  return () => answer();
}

const countdowns = ({ http }: Harness, from: number) =>
  http.requests.slice(from).flatMap((request) => paramsOf(request)["countdownTime"] ?? []);

it("a countdown that is armed again is sent again after what followed an order for the arm before and is under way: that time is earlier", async () => {
  const harness = await armed();
  const { clock, http, trading } = harness;
  http.reply(200, PLACED);
  const answer = heldBack(harness, COUNTDOWN);
  await trading.orders.place(harness.open(V1), RESTING, OPTIONS);
  await clock.advanceAsync(1);
  expect(countdowns(harness, 0)).toEqual(["10000"]);
  const taken = { ...COUNTDOWN, countdownTime: "60000" };
  http.reply(200, []).reply(200, taken).reply(200, taken);
  let outcome: string | null = null;
  const again = trading.orders.scheduleCancel(harness.open(V1), clock.wallMs() + 60_000, OPTIONS).then((result) => {
    outcome = result.outcome;
  });
  await clock.advanceAsync(100);
  // The one before may come to the venue last.
  expect(outcome).toBeNull();
  answer();
  await clock.advanceAsync(100);
  await again;
  expect(outcome).toBe("accepted");
  expect(countdowns(harness, 0)).toEqual(["10000", "60000", "59900"]);
});

/** Two keys of one account, each armed while nobody knew that; the first one's order of ETH is being followed. */
async function armedTwice(): Promise<{ readonly harness: Harness; readonly answer: () => void }> {
  const harness = createHarness();
  const { clock, http, trading } = harness;
  const [first, second] = [harness.open(V1), harness.open(OTHER_KEY)];
  http.reply(200, []).reply(200, PLACED);
  await trading.orders.scheduleCancel(first, clock.wallMs() + 10_000, OPTIONS);
  const answer = heldBack(harness, COUNTDOWN);
  await trading.orders.place(first, RESTING, OPTIONS);
  await clock.advanceAsync(1);
  http.reply(200, BALANCES).reply(200, []).reply(200, BALANCES);
  await trading.accountNames.read(second, OPTIONS);
  await trading.orders.scheduleCancel(second, clock.wallMs() + 10_000, OPTIONS);
  await trading.accountNames.read(first, OPTIONS);
  return { harness, answer };
}

it("a countdown of two keys that turn out to be one account's ends as one: what follows for either is waited for", async () => {
  const { harness, answer } = await armedTwice();
  const { clock, http, trading } = harness;
  const stopped = { ...COUNTDOWN, countdownTime: "0" };
  http.reply(200, []).reply(200, stopped).reply(200, stopped);
  let outcome: string | null = null;
  const ended = trading.orders.scheduleCancel(harness.open(V1), null, OPTIONS).then((result) => {
    outcome = result.outcome;
  });
  await clock.advanceAsync(100);
  expect(outcome).toBeNull();
  answer();
  await clock.advanceAsync(100);
  await ended;
  expect(outcome).toBe("accepted");
  expect(countdowns(harness, 0)).toEqual(["10000", "0", "0"]);
});

it("a countdown of two keys that turn out to be one account's leaves both where an arm is refused: an end stops either's symbols", async () => {
  const { harness, answer } = await armedTwice();
  const { clock, http, trading } = harness;
  answer();
  await clock.advanceAsync(1);
  http.reply(400, { code: -1003, msg: "Too many requests." });
  const atMs = clock.wallMs() + 60_000;
  expect(await trading.orders.scheduleCancel(harness.open(V1), atMs, OPTIONS)).toMatchObject({ outcome: "rejected" });
  http.reply(200, []).reply(200, { ...COUNTDOWN, countdownTime: "0" });
  // Ended by the key that dealt in nothing itself.
  const ended = await trading.orders.scheduleCancel(harness.open(OTHER_KEY), null, OPTIONS);
  expect(ended).toMatchObject({ symbols: ["ETHUSDT"] });
});

it("the end of a countdown reverts what an arm of unknown outcome had it count down, also where nothing is open any more", async () => {
  const harness = createHarness();
  const { clock, http, trading } = harness;
  const armedBy = harness.open(V1);
  // Resting orders of other keys, in two symbols: the first is counted down, of the other nobody knows.
  http
    .reply(200, [PLACED, placedAnswer("BTCUSDT")])
    .reply(200, COUNTDOWN)
    .reply(500, "<html>");
  const arm = trading.orders.scheduleCancel(armedBy, clock.wallMs() + 10_000, OPTIONS);
  expect(await arm).toMatchObject({ outcome: "unknown" });
  // Both are filled by now.
  http.reply(200, []).reply(200, COUNTDOWN).reply(200, COUNTDOWN);
  expect(await trading.orders.scheduleCancel(armedBy, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
  expect(http.requests.slice(4).map((request) => paramsOf(request)["symbol"])).toEqual(["ETHUSDT", "BTCUSDT"]);
});

it("a countdown is ended also where the session that armed it is closed and an order came since", async () => {
  const harness = createHarness();
  const { clock, http, trading } = harness;
  const armedBy = harness.open(V1);
  http.reply(200, [PLACED]).reply(200, COUNTDOWN);
  await trading.orders.scheduleCancel(armedBy, clock.wallMs() + 10_000, OPTIONS);
  // Another switch takes its place, and its arm is refused: the venue counts down as before.
  armedBy.close();
  const next = harness.open(V1);
  http.reply(400, { code: -1003, msg: "Too many requests." }).reply(200, placedAnswer("BTCUSDT"));
  await trading.orders.scheduleCancel(next, clock.wallMs() + 20_000, OPTIONS);
  await trading.orders.place(harness.open(V1), restingOrder(BTC), OPTIONS);
  await clock.advanceAsync(1);
  http.reply(200, []).reply(200, COUNTDOWN).reply(200, COUNTDOWN);
  expect(await trading.orders.scheduleCancel(next, null, OPTIONS)).toMatchObject({ outcome: "accepted" });
  const ended = http.requests.slice(5).map((request) => paramsOf(request)["symbol"]);
  expect(ended).toContain("ETHUSDT");
});

it("a countdown follows all symbols that a key dealt in while it was asked whose it is", async () => {
  const harness = await armed();
  const { clock, http, trading } = harness;
  let name = (): void => {};
  http
    .reply(200, PLACED)
    .step(() => new Promise((resolve) => (name = () => resolve(http.response(200, BALANCES)))))
    .reply(200, placedAnswer("BTCUSDT"));
  await trading.orders.place(harness.open(OTHER_KEY), RESTING, OPTIONS);
  await trading.orders.place(harness.open(OTHER_KEY), restingOrder(BTC, "d".repeat(32)), OPTIONS);
  http.reply(200, COUNTDOWN).reply(200, COUNTDOWN);
  name();
  await clock.advanceAsync(1);
  expect(http.requests.slice(5).map((request) => paramsOf(request)["symbol"])).toEqual(["ETHUSDT", "BTCUSDT"]);
});

it("a countdown is ended shortly after its moment too: the venue counts from when the call came", async () => {
  const harness = createHarness();
  const { clock, http, trading } = harness;
  const armedBy = harness.open(V1);
  http.reply(200, [PLACED]).reply(200, COUNTDOWN);
  await trading.orders.scheduleCancel(armedBy, clock.wallMs() + 10_000, OPTIONS);
  clock.advance(10_500);
  // An order in between says nothing of that.
  http.reply(200, placedAnswer("BTCUSDT"));
  await trading.orders.place(armedBy, restingOrder(BTC), OPTIONS);
  http.reply(200, []).reply(200, COUNTDOWN).reply(200, COUNTDOWN);
  await trading.orders.scheduleCancel(armedBy, null, OPTIONS);
  expect(http.requests.slice(4).map((request) => paramsOf(request)["symbol"])).toContain("ETHUSDT");
});
