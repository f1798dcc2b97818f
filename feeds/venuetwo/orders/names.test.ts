/** One name for all keys of an account, whatever their kind; none that the venue has not confirmed. */
import { describe, expect, it } from "vitest";
import { AGENT, AGENT_KEY, createHarness, type Harness, OPTIONS, V1, V3, WALLET } from "../test/trading-harness.js";

const balances = (alias?: string) => [
  { ...(alias === undefined ? {} : { accountAlias: alias }), asset: "USDT", balance: "1", availableBalance: "1" },
];

async function nameOf(harness: Harness, credentials: Record<string, unknown>): Promise<unknown> {
  const { accountNames } = harness.trading;
  const session = harness.open(credentials);
  const known = accountNames.known(session);
  if (known !== null) return known;
  const read = await accountNames.read(session, OPTIONS);
  return read.ok ? read.value : read.code;
}

describe("the account behind a key of venuetwo", () => {
  it("is the same for every key that the venue gives the same alias, and another for another", async () => {
    const harness = createHarness();
    harness.http.reply(200, balances("SgsR")).reply(200, balances("SgsR")).reply(200, balances("Other"));
    const names = [
      await nameOf(harness, V1),
      await nameOf(harness, V3),
      await nameOf(harness, { ...V1, apiKey: "another-key" }),
    ];
    expect(names[0]).toBe(names[1]);
    expect(names[2]).not.toBe(names[0]);
  });

  it("is asked for once, and not told to who merely names the key", async () => {
    const harness = createHarness();
    harness.http.reply(200, balances("SgsR")).reply(401, { code: -2015, msg: "Invalid API-key" });
    for (let count = 0; count < 3; count++) expect(await nameOf(harness, V1)).toBe("alias:SgsR");
    expect(harness.http.requests).toHaveLength(1);
    expect(await nameOf(harness, { ...V1, apiSecret: "guessed" })).toBe("AUTH");
  });

  it("is an agent's user where the balances name nobody, and not known for a V1 key", async () => {
    const harness = createHarness();
    harness.http.reply(200, balances()).reply(200, balances());
    expect(await nameOf(harness, { apiKey: AGENT, apiSecret: AGENT_KEY, walletAddress: WALLET })).toBe(
      WALLET.toLowerCase(),
    );
    expect(await nameOf(harness, V1)).toBe("BAD_RESPONSE");
  });
});
