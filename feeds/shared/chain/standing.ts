/**
 * What became of a transaction, of what each endpoint shows: pure. `final` and `replaced` take as many as must agree;
 * one alone brings about neither, and one that shows a receipt keeps `replaced` from being said.
 */
import type { TransactionStanding } from "../../../engine/chain.js";
import type { EndpointView } from "./receipts.js";

type MinedView = Extract<EndpointView, { kind: "mined" }>;

export interface FinalRule {
  readonly confirmations: number;
  readonly agreement: number;
}

/** Null: none of them has answered. */
export function standingOf(views: readonly EndpointView[], rule: FinalRule): TransactionStanding | null {
  if (views.every(({ kind }) => kind === "silent")) return null;
  const groups = sameReceipts(views);
  const [first] = groups.filter((group) => isFinal(group, rule));
  const finals = groups.filter((group) => isFinal(group, rule)).length;
  if (first !== undefined && finals === 1) return minedOf(first, rule, true);
  // Two that are final cannot both be: no more is said than that it is in a block.
  const [shown] = groups;
  if (shown !== undefined) return minedOf(shown, rule, false);
  const depths = views.flatMap((view) => (view.kind === "unshown" ? [view.confirmations] : []));
  if (depths.length > 0) return unshownOf(depths, rule);
  const unmined = views.filter((view) => view.kind === "unmined");
  const isUnsettled = views.some(({ kind }) => kind === "unsettled");
  const usedCount = unmined.filter(({ isNonceUsed }) => isNonceUsed).length;
  if (usedCount >= rule.agreement && !isUnsettled) return { kind: "replaced" };
  return { kind: "open", isKnown: isUnsettled || unmined.some(({ isKnown }) => isKnown) };
}

/** One alone keeps `replaced` from being said. */
function unshownOf(depths: readonly number[], { agreement, confirmations }: FinalRule): TransactionStanding {
  const deepest = [...depths].sort((left, right) => right - left);
  const depth = deepest[agreement - 1] ?? 0;
  const isFinal = depth >= confirmations;
  return { kind: "unshown", confirmations: isFinal ? depth : Math.max(1, Math.min(depth, confirmations - 1)), isFinal };
}

/** Those that show the same in the same block, the group of most endpoints first, then the deepest. */
function sameReceipts(views: readonly EndpointView[]): readonly (readonly MinedView[])[] {
  const groups = new Map<string, MinedView[]>();
  for (const view of views) {
    if (view.kind !== "mined") continue;
    const key = textOf(view);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [view]);
    else group.push(view);
  }
  const deepestFirst = [...groups.values()].map((group) =>
    group.sort((left, right) => right.confirmations - left.confirmations),
  );
  return deepestFirst.sort((left, right) => right.length - left.length || depthOf(right, 1) - depthOf(left, 1));
}

/** All that money is counted by: an endpoint that lies of the outcome or of a log agrees with nobody. */
function textOf({ receipt }: MinedView): string {
  const { hash, blockNumber, blockHash, succeeded, gasCost, logs } = receipt;
  const data = logs.map((log) => [log.address, log.topics, Buffer.from(log.data).toString("hex")]);
  return JSON.stringify([hash, blockNumber, blockHash, succeeded, gasCost.toString(), data]);
}

/** Confirmations that so many of the group show. */
function depthOf(group: readonly MinedView[], count: number): number {
  return group[count - 1]?.confirmations ?? 0;
}

function isFinal(group: readonly MinedView[], { agreement, confirmations }: FinalRule): boolean {
  return depthOf(group, agreement) >= confirmations;
}

function minedOf(group: readonly MinedView[], rule: FinalRule, final: boolean): TransactionStanding | null {
  const [view] = group;
  if (view === undefined) return null;
  const { hash, blockNumber, blockHash, succeeded, gasCost, logs } = view.receipt;
  const shown = depthOf(group, Math.min(rule.agreement, group.length));
  // What is not final is not shown as deep as what is, whoever may read the number alone.
  const confirmations = final ? shown : Math.max(1, Math.min(shown, rule.confirmations - 1));
  return { kind: "mined", hash, blockNumber, blockHash, confirmations, isFinal: final, succeeded, gasCost, logs };
}
