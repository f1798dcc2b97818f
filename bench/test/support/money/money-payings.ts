/** Withdrawals as the venues' books have them, each with its payment on chain. */
import { parseUnits } from "viem";
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import { type WorldChainId, worldToken } from "../../../sim/chain/world-plan.js";
import { type Evidence, lower } from "./money-evidence.js";
import type { Judged } from "./money-findings.js";

/** A withdrawal as a venue's books have it. `units` includes the fee where that is inside. */
export interface Paying {
  readonly venue: "venueone" | "venuetwo";
  readonly venueId: string;
  readonly address: string;
  readonly chainId: WorldChainId;
  readonly units: bigint;
  /** What the venue says that it paid, its fee left out. */
  readonly paid: bigint;
  readonly fee: bigint | null;
  readonly accountType: "spot" | "perp" | null;
  /** The money is back. */
  readonly isBack: boolean;
  /** As the chain paid it; null: it did not. */
  readonly onChain: { readonly to: string; readonly amount: bigint; readonly fee: bigint | null } | null;
}

export function payingsOf({ world, evidence }: Judged, address: string): Paying[] {
  const two = world.venuetwo.room.money.history(address, address).flatMap((row): Paying[] => {
    if (row.type !== "WITHDRAW") return [];
    const chainId = row.chainId as WorldChainId;
    const units = parseUnits(row.amount, worldToken(chainId, row.asset).decimals);
    const pays = evidence.events.filter((event) => isVaultPayment(event, chainId, row.id));
    const [pay] = pays;
    return [
      {
        ...{
          venue: "venuetwo",
          venueId: row.id,
          address,
          chainId,
          units,
          paid: units,
          fee: null,
          accountType: row.accountType,
        },
        isBack: row.state === "FAILED",
        onChain: pay === undefined ? null : paymentOf(pay.args, "to", "amount", "fee"),
      },
    ];
  });
  const ledger = world.venueone.room.venue.account(address)?.ledger ?? [];
  const one = ledger.flatMap(({ delta }): Paying[] => {
    if (delta["type"] !== "withdraw") return [];
    const [paid, fee] = [delta["usdc"], delta["fee"]].map((text) => parseUnits(String(text), 6)) as [bigint, bigint];
    const pay = evidence.events.find(
      ({ name, args }) =>
        name === "FinalizedWithdrawal" &&
        lower(args["user"]) === address &&
        args["nonce"] === BigInt(String(delta["nonce"])),
    );
    return [
      {
        ...{
          venue: "venueone",
          venueId: String(delta["nonce"]),
          address,
          chainId: 42161,
          units: paid + fee,
          paid,
          fee,
          accountType: null,
        },
        isBack: pay === undefined,
        onChain: pay === undefined ? null : paymentOf(pay.args, "destination", "usd", null),
      },
    ];
  });
  return [...two, ...one];
}

function isVaultPayment(event: Evidence["events"][number], chainId: number, id: string): boolean {
  return event.name === "Withdraw" && event.chainId === chainId && event.args["id"] === BigInt(id);
}

function paymentOf(args: Readonly<Record<string, unknown>>, to: string, amount: string, fee: string | null) {
  return {
    ...{ to: lower(args[to]), amount: BigInt(String(args[amount])) },
    fee: fee === null ? null : BigInt(String(args[fee])),
  };
}

/** venueone shows what left the account, and its chain what was paid: of what came back neither says anything. */
export function isAllThatIsKnown(row: TransferRow): boolean {
  return row.kind === "withdrawal" && row.venue === "venueone" && row.state === "broadcast" && row.paid !== null;
}
