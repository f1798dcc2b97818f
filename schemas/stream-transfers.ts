/**
 * What the topic `transfers` carries, one schema per frame.
 *
 * Folding: the transfer of an event replaces the one of the same `transferId`, or is a new one.
 */
import { Type } from "@sinclair/typebox";
import { reply, words } from "./common.js";
import { snapshotFrame, updateFrame } from "./stream-data.js";
import { transferSchema } from "./transfers.js";

export const TRANSFER_EVENT_WORDS = ["transfer.created", "transfer.changed", "transfer.ended"] as const;
export type TransferEvent = (typeof TRANSFER_EVENT_WORDS)[number];

/** Ended rows in a snapshot. */
export const ENDED_SHOWN_MAX = 50;

export const transfersSnapshotSchema = snapshotFrame(
  "transfers",
  reply({
    transfers: Type.Array(transferSchema, {
      description: `All that are open, and the newest ${ENDED_SHOWN_MAX} others; newest first.`,
    }),
  }),
  "TransfersSnapshot",
);

export const transfersUpdateSchema = updateFrame(
  "transfers",
  reply({
    event: words(TRANSFER_EVENT_WORDS, {
      description:
        "ended: it has become confirmed or failed. What follows a confirmation, such as the venue's credit, is changed.",
    }),
    transfer: transferSchema,
  }),
  "TransfersUpdate",
);
