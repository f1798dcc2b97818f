/** An agent's account is its principal's: known once the venue has said so. */
import { expect, it } from "vitest";
import { createHarness, KEY, OPTIONS, PRINCIPAL } from "../test/trading-harness.js";

/** Another key of the curve. */
const OTHER_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

it("two agents of one account have one name, which is remembered", async () => {
  const harness = createHarness();
  const { accountNames } = harness.trading;
  const role = { role: "agent", data: { user: PRINCIPAL } };
  harness.http.reply(200, role).reply(200, role);
  for (const privateKey of [KEY, OTHER_KEY]) {
    const session = harness.open({ privateKey });
    expect(accountNames.known(session)).toBeNull();
    expect(await accountNames.read(session, OPTIONS)).toMatchObject({ ok: true, value: PRINCIPAL });
    expect(accountNames.known(harness.open({ privateKey }))).toBe(PRINCIPAL);
  }
});

it("a key that acts for nobody has none", async () => {
  const harness = createHarness();
  const session = harness.open();
  harness.http.reply(200, { role: "missing" });
  expect(await harness.trading.accountNames.read(session, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
  expect(harness.trading.accountNames.known(session)).toBeNull();
});

it("a proof of an account behind a key lasts no longer because our wall clock was set back: the key may be revoked by then", async () => {
  const harness = createHarness();
  const vaultAddress = `0x${"cd".repeat(20)}`;
  harness.http.reply(200, { role: "vault" }).reply(200, { status: "ok", response: { type: "default" } });
  const { accountNames } = harness.trading;
  expect(await accountNames.read(harness.open({ vaultAddress }), OPTIONS)).toMatchObject({ ok: true });
  harness.clock.advance(9 * 60_000);
  expect(accountNames.known(harness.open({ vaultAddress }))).not.toBeNull();
  harness.clock.stepWall(-3_600_000);
  harness.clock.advance(2 * 60_000);
  expect(accountNames.known(harness.open({ vaultAddress }))).toBeNull();
});
