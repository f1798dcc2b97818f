/** Reads what the service tells its page when it opens. */
import type { PageFacts as ServedFacts } from "../../schemas/page-facts.js";
import type { Account } from "./account.js";

const PATH = "/assets/page.json";

export interface PageFacts extends ServedFacts {
  /** The demo's own; null on every other service. */
  readonly account: Account | null;
}

/** Returns null where the file cannot be read. */
export async function readPageFacts(): Promise<PageFacts | null> {
  try {
    const reply = await fetch(PATH, { cache: "no-store" });
    const { data } = (await reply.json()) as {
      data: Partial<ServedFacts> & { account: Omit<Account, "isDemo"> | null };
    };
    const account = data.account === null ? null : { ...data.account, isDemo: true };
    const { wantsKey, hasWallets, funds = [] } = data;
    return { account, wantsKey: wantsKey === true, hasWallets: hasWallets === true, funds };
  } catch {
    return null;
  }
}
