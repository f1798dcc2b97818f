/** The account behind an agent's key: known once the venue has taken its signature for the wallet. */
import { expect, it } from "vitest";
import { createHarness, OPTIONS, WALLET } from "../test/trading-harness.js";

const GONE = { success: false, data: null, error: "Failed to cancel order", code: 6 };

it("a proof of an account behind an agent lasts no longer because our wall clock was set back: the agent may be revoked by then", async () => {
  const harness = createHarness();
  harness.http.reply(400, GONE);
  const { accountNames } = harness.trading;
  expect(await accountNames.read(harness.open(), OPTIONS)).toMatchObject({ ok: true, value: WALLET.publicKey });
  harness.clock.advance(9 * 60_000);
  expect(accountNames.known(harness.open())).toBe(WALLET.publicKey);
  harness.clock.stepWall(-3_600_000);
  harness.clock.advance(2 * 60_000);
  expect(accountNames.known(harness.open())).toBeNull();
});
