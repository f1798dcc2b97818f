/** Withdrawals of a venue that shows what left the account alone, so that each payment is searched for on the chain. */
import type { WithdrawalRow } from "../transfer-row.js";
import { type Life, TransferWorld } from "./transfer-world.js";

export const PAYOUT_AMOUNT = 7_000_000n;

/** `prepare`: before anything lives in it. */
export async function payoutScene(
  prepare: (world: TransferWorld) => void = () => {},
): Promise<{ world: TransferWorld; life: Life }> {
  const world = new TransferWorld();
  world.named.hidesPayments = true;
  world.named.paysOnChain = true;
  prepare(world);
  const life = await world.live();
  life.keeper.start();
  return { world, life };
}

export function askedPayout(world: TransferWorld, life: Life, amount = PAYOUT_AMOUNT): Promise<WithdrawalRow> {
  return world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, amount)));
}

/** As it is now. */
export async function payoutRow(life: Life, { transferId }: WithdrawalRow): Promise<WithdrawalRow> {
  return (await life.transfers.find(transferId)) as WithdrawalRow;
}

/** The service once more, a minute on, where the chain is not configured any more. */
export async function withoutChain(world: TransferWorld, life: Life): Promise<Life> {
  await world.clock.advanceAsync(60_000);
  await life.keeper.stop();
  world.hasChain = false;
  const without = await world.live();
  without.keeper.start();
  return without;
}
