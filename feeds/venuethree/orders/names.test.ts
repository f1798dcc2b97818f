/** The account is the index that the credentials name, once the venue has confirmed the key for it. */
import { expect, it } from "vitest";
import { ACCOUNT, createHarness, OPTIONS } from "../test/trading-harness.js";

it("the account of a venuethree key is known when the key is confirmed, and not before", async () => {
  const harness = createHarness();
  const { accountNames } = harness.trading;
  const session = harness.open();
  expect(accountNames.known(session)).toBeNull();
  harness.confirmKey();
  expect(await accountNames.read(session, OPTIONS)).toMatchObject({ ok: true, value: String(ACCOUNT) });
  expect(accountNames.known(harness.open())).toBe(String(ACCOUNT));
});

it("the account of a venuethree key is nobody's where the key is not one of the account", async () => {
  const harness = createHarness();
  harness.http.reply(200, { code: 200, api_keys: [] });
  const session = harness.open();
  expect(await harness.trading.accountNames.read(session, OPTIONS)).toMatchObject({ ok: false, code: "AUTH" });
  expect(harness.trading.accountNames.known(session)).toBeNull();
});
