/** Changes of leverage and margin mode that meet each other: one transaction sets both, and none takes another back. */
import { describe, expect, it } from "vitest";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { account, answerOf, position, ready } from "../test/account-rows.js";
import { BTC, type Harness, OPTIONS, sentTx } from "../test/trading-harness.js";

const UNTOUCHED = position({ initial_margin_fraction: "5.00", margin_mode: 0 });
const FIVEFOLD = 2_000;
const ISOLATED = 1;

/** A venue that takes changes and shows them in no read yet. `lost`: so many of the next are taken without an answer. */
function behind(harness: Harness, lost = 0): void {
  let left = lost;
  const answer = (request: HttpRequest): HttpResult => {
    if (request.path.startsWith("/api/v1/nextNonce")) return harness.http.response(200, { code: 200, nonce: 43 });
    if (request.path !== "/api/v1/sendTx")
      return harness.http.response(200, answerOf(account({ positions: [UNTOUCHED] })));
    if (left-- > 0) return { kind: "noResponse", reason: "TIMEOUT" };
    return harness.http.response(200, { code: 200, message: "{}", tx_hash: sentTx(request).hash });
  };
  for (let count = 0; count < 40; count++) harness.http.step(answer);
}

describe("leverage and margin mode of venuethree", () => {
  it("that are changed at once are both kept, whichever goes first", async () => {
    for (const isModeFirst of [false, true]) {
      const { harness, session } = ready();
      await harness.trading.resolveKey(session, OPTIONS);
      behind(harness);
      const { settings } = harness.trading;
      const leverage = () => settings.setLeverage(session, BTC, 5, OPTIONS);
      const mode = () => settings.setMarginMode(session, BTC, "isolated", OPTIONS);
      const changes = isModeFirst ? [mode(), leverage()] : [leverage(), mode()];
      for (const change of changes) expect(await change).toMatchObject({ outcome: "accepted" });
      expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
    }
  });

  it("keep a change whose end is not known when the next one is sent", async () => {
    const { harness, session } = ready();
    await harness.trading.resolveKey(session, OPTIONS);
    behind(harness, 1);
    const { settings } = harness.trading;
    expect(await settings.setLeverage(session, BTC, 5, OPTIONS)).toMatchObject({ outcome: "unknown" });
    expect(await settings.setMarginMode(session, BTC, "isolated", OPTIONS)).toMatchObject({ outcome: "accepted" });
    expect(harness.sent().at(-1)?.fields).toMatchObject({ InitialMarginFraction: FIVEFOLD, MarginMode: ISOLATED });
  });

  it.each([0, 1])(
    "are not known until a read shows them, so that an entry sets its own (%i unanswered)",
    async (lost) => {
      const { harness, session } = ready();
      await harness.trading.resolveKey(session, OPTIONS);
      behind(harness, lost);
      const { settings } = harness.trading;
      await settings.setLeverage(session, BTC, 5, OPTIONS);
      const read = () => settings.read(session, BTC, OPTIONS);
      expect(await read()).toMatchObject({ value: { leverage: null, marginMode: "cross" } });
      harness.clock.advance(5_001);
      expect(await read()).toMatchObject({ value: { leverage: 20, marginMode: "cross" } });
    },
  );
});
