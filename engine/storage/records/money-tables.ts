/** Tables of money that moves, as data: transfers. See schema.ts. */
import { count, maybeMoney, money, OWNER, RX, text, VENUE, word, words } from "./columns.js";
import type { RecordColumn, RecordTable } from "./record-table.js";

const time = (name: string): RecordColumn => ({ name, type: "DateTime64(3, 'UTC')", codec: "Delta, ZSTD(1)" });
const flag = (name: string): RecordColumn => ({ name, type: "UInt8" });

/**
 * One row per durable change of a deposit, withdrawal or transfer between a venue's accounts: its history. What a kind
 * does not have is "", 0 or null. The same change twice is the same row; read with FINAL.
 */
export const TRANSFERS: RecordTable = {
  name: "transfers",
  columns: [
    /** When the change was made. */
    RX,
    /** When the transfer was made: equal in all its rows, so it may be the partition. */
    time("at"),
    text("transfer_id"),
    /** From 1, without a gap. */
    count("change"),
    text("wallet_id"),
    /** The wallet's. */
    text("address"),
    VENUE,
    /** deposit, withdrawal, internal. */
    word("kind"),
    word("state"),
    word("reason"),
    /** Of a chain or a venue, cleaned as in replies. */
    text("reason_text"),
    text("request_id"),
    /** The venue's own id. */
    text("venue_id"),
    count("chain_id"),
    word("network"),
    word("asset"),
    /** Its contract. */
    text("token"),
    flag("decimals"),
    /** In token units, as are the figures below. */
    money("amount"),
    /** The same, with all digits of any token. */
    text("amount_text"),
    maybeMoney("fee"),
    /** The fee is a part of the amount. */
    flag("fee_inside"),
    maybeMoney("paid"),
    word("payout"),
    /** Contract or address that gets the money on the chain. */
    text("destination"),
    word("account_type"),
    /** Of the deposit itself, or of the payout. */
    text("tx_hash"),
    /** Of all signed transactions, in the order of signing. */
    words("hashes"),
    /** Of the deposit itself; 0 before a block has it. */
    count("block_number"),
    count("confirmations"),
    flag("is_final"),
    /** Of all mined transactions, in whole coins of the chain. */
    maybeMoney("gas_cost"),
    flag("credit_awaited"),
    word("kind_type"),
    text("client_tran_id"),
    time("signed_at"),
    time("sent_at"),
    time("last_sent_at"),
    /** The venue takes the act until then. */
    time("valid_until"),
    OWNER,
  ],
  engine: { kind: "ReplacingMergeTree", version: "change" },
  orderBy: ["transfer_id", "change"],
  partitionBy: "toYYYYMM(at)",
  ttl: null,
  fsync: true,
  shardingKey: "cityHash64(transfer_id)",
};
