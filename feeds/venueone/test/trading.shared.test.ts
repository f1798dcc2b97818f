import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  decodeAccount,
  decodeExchange,
  decodeFills,
  decodeOpenOrders,
  decodeOrderStatus,
  decodePosition,
  decodeRole,
  decodeSpotBalances,
} from "../account/wire.js";
import { classifyText } from "../rules/errors.js";
import { decodeAssetSettings, decodeFunding } from "../account/history-wire.js";

const dir = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "..", "shared", "fixtures", "venueone");

function read(file: string): unknown {
  const parsed = JSON.parse(readFileSync(join(dir, file), "utf8")) as { response?: { body?: unknown } };
  // Some hold request and response, some the body alone.
  return parsed.response?.body ?? parsed;
}

const files = existsSync(dir) ? readdirSync(dir) : [];
const named = (pattern: RegExp): string[] => files.filter((file) => pattern.test(file));

describe.skipIf(files.length === 0)("recorded answers about trading (needs ../shared)", () => {
  it.each(named(/^rest_(exchange_|bytex_exchange|ccxt_order)/))("%s decodes as an exchange answer", (file) => {
    const answer = decodeExchange(read(file));
    const texts =
      answer.kind === "err"
        ? [answer.text]
        : answer.statuses.flatMap((status) => (status.kind === "error" ? [status.text] : []));
    // Every recorded trading refusal is in the table; deployer actions are no business of ours.
    if (!file.includes("perpDeploy")) for (const text of texts) expect(classifyText(text).code).not.toBe("refused");
    expect(answer.kind === "err" || answer.type !== "").toBe(true);
  });

  it.each(named(/clearinghouse_?state/i).filter((file) => !/spot|ws_/i.test(file)))(
    "%s decodes as an account",
    (file) => {
      const account = decodeAccount(read(file));
      expect(account.accountValue).toMatch(/^-?\d/);
      for (const position of account.positions) expect(position.szi).not.toBe("0.0");
    },
  );

  it.each(named(/spot_?clearinghouse_?state/i))("%s decodes as spot balances", (file) => {
    expect(decodeSpotBalances(read(file)).length).toBeGreaterThan(0);
  });

  it("the recorded position row decodes", () => {
    expect(decodePosition(read("rest_info_study_position_small_long.json"))).toMatchObject({
      coin: "BTC",
      szi: "0.00015",
      liquidationPx: null,
    });
  });

  it.each(named(/^rest_info_(frontendO|o)penOrders_/))("%s decodes as open orders", (file) => {
    expect(Array.isArray(decodeOpenOrders(read(file)))).toBe(true);
  });

  it.each(named(/^rest_info_(probe|study)_.*penOrders/))(
    "%s decodes once the id that the excerpt left out is put back",
    (file) => {
      const rows = read(file) as Record<string, unknown>[];
      const [order] = decodeOpenOrders(rows.map((row) => ({ oid: 1, ...row })));
      expect(order?.reduceOnly).toBe(true);
    },
  );

  it.each(named(/^rest_info_orderStatus_/))("%s decodes as an order status", (file) => {
    expect(decodeOrderStatus(read(file))).toBeNull();
  });

  it.each(named(/^rest_.*userRole/))("%s decodes as a role", (file) => {
    expect(["agent", "vault"]).toContain(decodeRole(read(file)).role);
  });

  it.each(named(/^rest_.*user_?fills/i).filter((file) => !/twap/i.test(file)))("%s decodes as fills", (file) => {
    const fills = decodeFills(read(file));
    expect(fills.length).toBeGreaterThan(0);
    for (const fill of fills) expect(fill.px).toMatch(/^\d/);
  });

  it.each(named(/^rest_info_userFunding_/))("%s decodes as funding payments", (file) => {
    const rows = decodeFunding(read(file));
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row.usdc).toMatch(/^-?\d/);
  });

  it.each(named(/^rest_info_activeAssetData_/))("%s decodes as settings of a coin", (file) => {
    expect(decodeAssetSettings(read(file)).leverage).toBeGreaterThan(0);
  });

  it("finds what it is there to decode", () => {
    expect(named(/^rest_exchange_/).length).toBeGreaterThanOrEqual(28);
    expect(named(/^rest_.*user_?fills/i).length).toBeGreaterThanOrEqual(3);
  });
});
