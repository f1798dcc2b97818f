/** The rails of money of one venuetwo trading half against scripted answers, each found by its path. */
import type { VenueMoney, WithdrawalAsk } from "../../../engine/venue-money.js";
import type { AccountSession } from "../../../engine/ports.js";
import type { HttpRequest, HttpResult } from "../../shared/net/http.js";
import { createHarness, type Harness, V3, WALLET } from "./trading-harness.js";

export const ACCOUNT = WALLET.toLowerCase();
export const SIGNATURE = `0x${"01".repeat(32)}${"02".repeat(32)}1b`;
export const ONE = 10n ** 18n;

export type Answer = { readonly status: number; readonly body: unknown } | HttpResult;

export interface MoneyScene extends Harness {
  readonly harness: Harness;
  readonly money: VenueMoney;
  readonly session: AccountSession;
  readonly ask: WithdrawalAsk;
  /** Paths in the order in which they were asked, without their queries. */
  paths(): readonly string[];
  requestOf(path: string): HttpRequest;
}

/** `answers`: by the end of a path. */
export function moneyScene(answers: Readonly<Record<string, Answer>> = {}, credentials = V3): MoneyScene {
  const harness = createHarness();
  const { money } = harness.trading;
  const token = money.withdrawals.token(56, "USDT");
  if (token === null) throw new Error("no token");
  const respond = (request: HttpRequest): HttpResult => {
    const path = pathOf(request);
    const found = Object.entries(answers).find(([end]) => path.endsWith(end))?.[1];
    if (found === undefined) throw new Error(`nothing is said of ${path}`);
    return "kind" in found ? found : harness.http.response(found.status, found.body);
  };
  for (let count = 0; count < 16; count++) harness.http.step(respond);
  return {
    ...harness,
    harness,
    money,
    session: harness.open(credentials),
    ask: { account: ACCOUNT, receiver: ACCOUNT, token, amount: 30n * ONE, accountType: "perp" },
    paths: () => harness.http.requests.map(pathOf),
    requestOf(path) {
      const found = harness.http.requests.find((request) => pathOf(request).endsWith(path));
      if (found === undefined) throw new Error(`${path} was not asked`);
      return found;
    },
  };
}

const pathOf = ({ path }: HttpRequest): string => path.split("?")[0] ?? "";
