/** What an account may withdraw and what it has moved, fact sheet 9.3. */
import { moneyText } from "../../core/model/fixed.js";
import { WORLD_CHAIN_IDS } from "../../chain/world-plan.js";
import { RawJson, type Route, type SignedCall } from "../records/context.js";
import { ASSET } from "../records/money-desk.js";
import { refuseInvalid } from "../wire/errors.js";
import { printFee, withdrawFee } from "./withdraw-fees.js";

/** Of a vault and a day; the venue's are not known. */
const LIMIT = "1000000";

export const MONEY_ROUTES: Readonly<Record<string, Route>> = {
  "POST aster/user-withdraw-info": { weight: 5, security: "signed", answer: info },
  "POST aster/deposit-withdraw-history": { weight: 5, security: "signed", answer: history },
};

/** Spot, without a signature. */
export const FEE_ROUTE: Route = {
  weight: 1,
  security: "none",
  answer: ({ params }) => {
    if (params.required("asset") !== ASSET) throw refuseInvalid("asset");
    const fee = printFee(params.integer("chainId") ?? 0);
    if (fee === null) throw refuseInvalid("chainId");
    return new RawJson(fee);
  },
};

function info({ context: { exchange, money }, account }: SignedCall): unknown {
  const spot = moneyText(account.spotE12, 8);
  const { availableE12 } = exchange.accounts.margin(account.accountId);
  const perp = moneyText(availableE12, 8);
  const chains = WORLD_CHAIN_IDS.filter((chainId) => money.decimals(chainId) !== null);
  const ofChain = (chainId: number) => ({
    spotMaxWithdrawAmount: spot,
    perpMaxWithdrawAmount: perp,
    chainLimit: LIMIT,
    withdrawFee: withdrawFee(chainId)?.gasCost ?? "0",
  });
  const chainBalances = Object.fromEntries(chains.map((chainId) => [chainId, ofChain(chainId)]));
  return { dailyLimit: LIMIT, dailyUsed: "0", balances: { [ASSET]: { chainBalances } } };
}

function history({ context: { keys, money }, account: { accountId } }: SignedCall): unknown {
  return money.history(accountId, keys.walletOf(accountId));
}
