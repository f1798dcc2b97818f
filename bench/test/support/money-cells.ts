/**
 * The kill matrix of money: every point at which a transfer can be when the service dies, on every network, in every
 * direction. A combination is a cell, or has the reason why there is none.
 */
import type { WorldChainId } from "../../sim/chain/world-plan.js";

export const DIRECTIONS = [
  "deposit at venueone",
  "deposit at venuetwo",
  "withdrawal from venueone to itself",
  "withdrawal from venueone to another address",
  "withdrawal from venuetwo, spot",
  "withdrawal from venuetwo, perp",
  "spot to perp",
  "perp to spot",
] as const;
type Direction = (typeof DIRECTIONS)[number];
type MoneyKind = "deposit" | "withdrawal" | "internal";

/** Null: none, money stays at the venue. */
export const NETWORKS: readonly (WorldChainId | null)[] = [1, 56, 42161, null];

/** Of a deposit one of its transactions; of the others the act that the venue takes, or the transaction that it pays by. */
export const STEPS = ["reset", "approve", "deposit", "act"] as const;
export type Step = (typeof STEPS)[number];

/**
 * created: a row, and nothing more. signing: the co-signer is asked. signed: stored, the send stopped on its way and lost.
 * sent: it has arrived, and the reply waits. lost: it has arrived, the reply is lost, and the row says unknown. unheard: the
 * same of one that never arrived. unmined: in a pool. mined: in a block, not final. pending: the venue has it, and pays
 * later. arrived: it has all happened, and the service has not seen it.
 */
const POINTS_OF_STEP = ["signing", "signed", "sent", "lost", "unheard", "unmined", "mined"] as const;
export const POINTS = ["created", ...POINTS_OF_STEP, "pending", "arrived"] as const;
type Point = (typeof POINTS)[number];

export interface Cell {
  readonly direction: Direction;
  readonly network: WorldChainId | null;
  readonly at: Point;
  /** Null where the point is of the whole row. */
  readonly step: Step | null;
}

interface NoCell extends Cell {
  readonly reason: string;
}

export function kindOf({ direction }: Pick<Cell, "direction">): MoneyKind {
  if (direction.startsWith("deposit")) return "deposit";
  return direction.startsWith("withdrawal") ? "withdrawal" : "internal";
}

export function isAtVenueone({ direction }: Pick<Cell, "direction">): boolean {
  return direction.includes("venueone");
}

/** Steps of a deposit; a token that resets its allowance has an old one. */
export function planOfCell(cell: Pick<Cell, "direction" | "network">): readonly Step[] {
  if (kindOf(cell) !== "deposit") return ["act"];
  if (isAtVenueone(cell)) return ["deposit"];
  return cell.network === 1 ? ["reset", "approve", "deposit"] : ["approve", "deposit"];
}

export function nameOf({ direction, network, at, step }: Cell): string {
  const where = network === null ? "" : ` on ${network}`;
  return `${direction}${where}, ${step === null ? "" : `${step} `}${at}`;
}

/** All combinations, each with or without a reason. */
export function universe(): {
  readonly cells: readonly Cell[];
  readonly none: readonly NoCell[];
  readonly size: number;
} {
  const cells: Cell[] = [];
  const none: NoCell[] = [];
  const isOfStep = (at: Point): boolean => (POINTS_OF_STEP as readonly Point[]).includes(at);
  for (const direction of DIRECTIONS)
    for (const network of NETWORKS)
      for (const at of POINTS)
        for (const step of isOfStep(at) ? STEPS : [null]) {
          const cell = { direction, network, at, step };
          const reason = reasonAgainst(cell);
          if (reason === null) cells.push(cell);
          else none.push({ ...cell, reason });
        }
  const perNetwork = POINTS_OF_STEP.length * STEPS.length + POINTS.length - POINTS_OF_STEP.length;
  return { cells, none, size: DIRECTIONS.length * NETWORKS.length * perNetwork };
}

/** Why there is no such cell; null: there is. */
function reasonAgainst(cell: Cell): string | null {
  const { network, step } = cell;
  const kind = kindOf(cell);
  if (kind === "internal" && network !== null) return "money that stays at the venue goes over no chain";
  if (kind !== "internal" && network === null) return "money that leaves or comes goes over a chain";
  if (kind !== "internal" && isAtVenueone(cell) && network !== 42161) return "venueone is on chain 42161 alone: 400";
  if (step !== null && !planOfCell(cell).includes(step)) return "has no such step";
  return { deposit: againstDeposit, withdrawal: againstWithdrawal, internal: againstInternal }[kind](cell);
}

function againstDeposit({ at }: Cell): string | null {
  return at === "pending" ? "the venue credits what is deep enough: before it is mined, after it arrived" : null;
}

function againstWithdrawal({ at }: Cell): string | null {
  return at === "created" ? "the row is made and the signer asked at once: signing" : null;
}

function againstInternal({ at }: Cell): string | null {
  switch (at) {
    case "created":
      return "nothing outside happens between the row and its send: engine/transfers/test/kills.test.ts";
    case "signing":
      return "is signed with the registered key, in this process";
    case "unmined":
    case "mined":
    case "pending":
      return "is done when the venue takes it";
    case "arrived":
      return "the venue's reply is all there is to see: sent and lost";
    default:
      return null;
  }
}

/** Points that a request reaches for less than its own time-out; the kill follows at once. */
export function isFleeting({ at }: Cell): boolean {
  return at === "signed" || at === "sent";
}

/** What is sent a second time no sooner than a minute after the first. */
export function isSlow(cell: Cell): boolean {
  const isResent = kindOf(cell) === "internal" || (kindOf(cell) === "withdrawal" && isAtVenueone(cell));
  return isResent && (cell.at === "signed" || cell.at === "unheard");
}

/** Signed and never arrived at a venue that might take an act twice: not sent again, and open until the act expires. */
export function staysUnknown(cell: Cell): boolean {
  return kindOf(cell) === "withdrawal" && !isAtVenueone(cell) && (cell.at === "signed" || cell.at === "unheard");
}

/** So many points that pass by fit before one kill. */
const FLEETING_MAX = 3;
const GROUP_MAX = 10;

/** Cells of one kill each. Every cell is in one. */
export function groupsOf(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const groups: Cell[][] = [];
  // Those that are hard to place come first.
  const order = [...cells].sort((left, right) => Number(isHard(right)) - Number(isHard(left)));
  for (const cell of order) {
    const group = groups.find((one) => fits(one, cell));
    if (group === undefined) groups.push([cell]);
    else group.push(cell);
  }
  return groups;
}

const isHard = (cell: Cell): boolean => isFleeting(cell) || cell.at === "signing";

function fits(group: readonly Cell[], cell: Cell): boolean {
  if (group.length >= GROUP_MAX) return false;
  if (isFleeting(cell) && group.filter(isFleeting).length >= FLEETING_MAX) return false;
  return group.every((other) => !isInTheWay(cell, other) && !isInTheWay(other, cell));
}

function isInTheWay(cell: Cell, other: Cell): boolean {
  // While the co-signer is held nobody else gets a signature.
  if (cell.at === "signing" && isFleeting(other)) return true;
  const arePaid = [cell, other].every((one) => kindOf(one) === "withdrawal");
  if (arePaid && cell.at === "pending" && ["unmined", "mined", "arrived"].includes(other.at))
    return isAtVenueone(cell) === isAtVenueone(other);
  // One block for one of them is one too many for the other.
  return cell.at === "mined" && other.at === "mined" && cell.network === other.network;
}
