/** What the service tells its page when it opens: a file of the page (`/assets/page.json`), no operation of the API. */
import type { MoneyVenueWord } from "./venues.js";

/** Fixed by the configuration. */
export interface PageFacts {
  /** The page offers to sign in. */
  readonly wantsKey: boolean;
  /** There are routes of server wallets: the page has a panel for them. */
  readonly hasWallets: boolean;
  /** Ways of their money; none: the page has no panel for it. */
  readonly funds: readonly FundRoute[];
}

/** One token on one chain, into a venue and out of it. */
export interface FundRoute {
  readonly exchange: MoneyVenueWord;
  readonly asset: string;
  readonly chainId: number;
  readonly network: string;
  readonly decimals: number;
  /** The venue pays it out there too. */
  readonly paysOut: boolean;
  /** A wallet has several accounts at the venue, and moves money between them. */
  readonly hasAccounts: boolean;
}
