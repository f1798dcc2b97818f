/** What the service tells its page when it opens: a file of the page, no operation of the API. */
import type { FundRoute } from "../view/funds.js";
import type { Account } from "./account.js";

const PATH = "/assets/page.json";

export interface PageFacts {
  /** The demo's own; null on every other service. */
  readonly account: Account | null;
  /** The service takes API keys, and much of it is for those who have one. */
  readonly wantsKey: boolean;
  /** The service has server wallets. */
  readonly hasWallets: boolean;
  /** Ways of their money; none: there is no panel for it. */
  readonly funds: readonly FundRoute[];
}

/** Returns null where the file cannot be read. */
export async function readPageFacts(): Promise<PageFacts | null> {
  try {
    const reply = await fetch(PATH, { cache: "no-store" });
    const { data } = (await reply.json()) as {
      data: {
        account: Omit<Account, "isDemo"> | null;
        wantsKey?: boolean;
        hasWallets?: boolean;
        funds?: readonly FundRoute[];
      };
    };
    const account = data.account === null ? null : { ...data.account, isDemo: true };
    const { wantsKey, hasWallets, funds = [] } = data;
    return { account, wantsKey: wantsKey === true, hasWallets: hasWallets === true, funds };
  } catch {
    return null;
  }
}
