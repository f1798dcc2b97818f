/**
 * `Activate` may come after C's session has ended, `Activated` after S's (docs/mpc.md, section 11): the rows say what is
 * still to be done. Any other message without its session is late.
 */
import type { Party } from "../mpc/base/parameters.js";
import { activation, type RowChange } from "../mpc/state/two-phase.js";
import { type Message, namesNoSession, sameBytes } from "../mpc/wire/header.js";
import { decodeTag, encodeTag } from "../mpc/wire/link-bodies.js";
import { MESSAGE } from "../mpc/wire/message-types.js";
import type { HeldWallet } from "./held-wallet.js";
import { linkMessage } from "./host-messages.js";

export interface ActivationPorts {
  readonly party: Party;
  write(wallet: HeldWallet, change: RowChange): Promise<boolean>;
  send(message: Message): void;
}

/** In the wallet's turn; no session of it runs. */
export async function lateActivation(
  { party, write, send }: ActivationPorts,
  wallet: HeldWallet,
  { header, body }: Message,
): Promise<"done" | "dropped" | "violation"> {
  const { type, epoch } = header;
  const { row } = wallet;
  const tag = wallet.epochs.get(epoch)?.tag;
  if ((type !== MESSAGE.activate && type !== MESSAGE.activated) || row === null || tag === undefined) return "dropped";
  if (!namesNoSession(header) || !sameBytes(decodeTag(body), tag)) return "violation";
  if (type === MESSAGE.activated) {
    if (row.activeEpoch !== epoch || row.keptEpoch === 0) return "dropped";
    await write(wallet, { row: { ...row, keptEpoch: 0 }, erase: [row.keptEpoch] });
    return "done";
  }
  if (row.preparedEpoch === epoch && !(await write(wallet, activation(party, row)))) return "done";
  if (wallet.row?.activeEpoch !== epoch || wallet.debt !== null) return "dropped";
  send(linkMessage(party, "activated", wallet.walletId, epoch, encodeTag(tag)));
  return "done";
}
