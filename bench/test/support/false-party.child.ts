/**
 * Loaded into the process of a party before its program (`node --import`), which is the one that an operator runs: what
 * stands in the test's file of orders this party does wrong from its next message on. The file is the query of the URL.
 */
import { readFileSync } from "node:fs";
import type { Message } from "../../../engine/custody/mpc/wire/header.js";
import { kindOfType, type MessageName } from "../../../engine/custody/mpc/wire/message-types.js";
import type { PartyLink } from "../../../engine/custody/provider/party-link.js";
import { PartyRows } from "../../../engine/custody/provider/party-rows.js";
import { LinkClient } from "../../../gateway/custody/link-client.js";
import { LinkServer } from "../../../gateway/custody/link-server.js";

export interface FalseOrders {
  /** One bit of each message of this name that it sends is another; `fromEnd`: of which byte, 1 is the last. */
  readonly flips: { readonly name: MessageName; readonly fromEnd: number } | null;
  /** It is killed once it has found a failed check: before the freeze is durable, or right behind, before it says so. */
  readonly dies: "before" | "after" | null;
}

const path = new URL(import.meta.url).searchParams.get("orders") ?? "";
// What this process starts is nobody's to spoil.
process.execArgv.length = 0;

function orders(): FalseOrders {
  return JSON.parse(readFileSync(path, "utf8")) as FalseOrders;
}

function falsified(message: Message): Message {
  const { flips } = orders();
  if (flips === null || kindOfType(message.header.type)?.name !== flips.name) return message;
  const body = Buffer.from(message.body);
  const at = body.length - flips.fromEnd;
  body.writeUInt8(body.readUInt8(at) ^ 1, at);
  return { header: message.header, body };
}

/** As it is before TLS: behind it every change is a lost connection. */
function tamper(prototype: Pick<PartyLink, "send">): void {
  const send = Reflect.get(prototype, "send") as (this: unknown, message: Message) => void;
  Object.assign(prototype, {
    send(this: unknown, message: Message) {
      send.call(this, falsified(message));
    },
  } satisfies Pick<PartyLink, "send">);
}

tamper(LinkClient.prototype);
tamper(LinkServer.prototype);

const { write } = PartyRows.prototype;
PartyRows.prototype.write = async function (wallet, change) {
  const dies = change.row?.status === "frozen" && wallet.row?.status !== "frozen" ? orders().dies : null;
  if (dies === "before") process.kill(process.pid, "SIGKILL");
  const isWritten = await write.call(this, wallet, change);
  if (dies === "after") process.kill(process.pid, "SIGKILL");
  return isWritten;
};
