/**
 * What the memory test does to a signing party from inside its process: draws and frames are written down, the process
 * is stopped where a frame has come and is not handled yet, and collections are forced. The party itself is the one of
 * the service; nothing here is known to it.
 */
import crypto from "node:crypto";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { encodeHeader, type Message } from "../../../engine/custody/mpc/wire/header.js";
import { kindOfType, type MessageName } from "../../../engine/custody/mpc/wire/message-types.js";
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import type { LinkListener, PartyLink } from "../../../engine/custody/provider/party-link.js";

/** What the root of a hedged nonce and every wide scalar are drawn from. */
const DRAW_BYTES = 64;
/** One collection frees what an earlier one moved or waited for. */
const COLLECTIONS = 3;
/** Numbers of 32 bytes: 20 MB, more than what a party leaves free. */
const FILLING = 400_000;

export type PartyCommand =
  | { readonly kind: "create"; readonly userId: string }
  | { readonly kind: "sign"; readonly text: string }
  | { readonly kind: "ready" }
  /** The process stops when this message comes the next time. */
  | { readonly kind: "hold"; readonly name: MessageName }
  | { readonly kind: "collect" }
  /** Memory that is free is written over: what is left then is referred to, or lies where nothing is put again. */
  | { readonly kind: "fill" };

/** The system's generator goes on as it is; the draws of 64 bytes are added to `path`, one behind the other. */
export function writeDraws(path: string): void {
  const { randomFillSync } = crypto;
  const written = (target: NodeJS.ArrayBufferView, ...range: number[]) => {
    const filled = (randomFillSync as (...given: unknown[]) => NodeJS.ArrayBufferView)(target, ...range);
    if (target.byteLength === DRAW_BYTES && target instanceof Uint8Array) appendFileSync(path, target);
    return filled;
  };
  crypto.randomFillSync = written as typeof randomFillSync;
  syncBuiltinESMExports();
}

/** Deadlines of the parties are this much longer: a process is stopped for seconds, and so may the machine be. */
const PATIENCE = 20;

export function patientClock(): Clock {
  const clock = createSystemClock();
  return {
    wallMs: () => clock.wallMs(),
    monoNs: () => Math.floor(clock.monoNs() / PATIENCE),
    setTimer: (run, ms) => clock.setTimer(run, ms * PATIENCE),
    clearTimer: (timer) => clock.clearTimer(timer),
  };
}

export interface Heap {
  collect(): void;
  fill(): void;
}

/** That of the thread which calls. */
export function ownHeap(): Heap {
  setFlagsFromString("--expose-gc");
  const once = runInNewContext("gc") as () => void;
  const collect = () => {
    for (let index = 0; index < COLLECTIONS; index++) once();
  };
  return {
    collect,
    fill() {
      const first = 1n << 255n;
      let numbers = Array.from({ length: FILLING }, (_, index) => first + BigInt(index));
      collect();
      numbers = numbers.map((number) => number + 1n);
      collect();
      numbers.length = 0;
      collect();
    },
  };
}

export interface Tap {
  hold(name: MessageName): void;
}

interface LinkClass {
  readonly prototype: Pick<PartyLink, "listen" | "send">;
}

/** Every frame of the links of this class, as it is before TLS; `path`: where they are added, null: nowhere. */
export function tap({ prototype }: LinkClass, path: string | null): Tap {
  let held: MessageName | null = null;
  const seen = ({ header, body }: Message) => {
    if (path !== null) appendFileSync(path, Buffer.concat([encodeHeader(header), body]));
  };
  const listen = Reflect.get(prototype, "listen") as (this: unknown, listener: LinkListener) => void;
  const send = Reflect.get(prototype, "send") as (this: unknown, message: Message) => void;
  Object.assign(prototype, {
    send(this: unknown, message: Message) {
      seen(message);
      send.call(this, message);
    },
    listen(this: unknown, listener: LinkListener) {
      listen.call(this, {
        connected: () => listener.connected(),
        malformed: (walletId) => listener.malformed(walletId),
        lost: () => listener.lost(),
        message(message) {
          seen(message);
          const name = kindOfType(message.header.type)?.name;
          if (name !== undefined && name === held) {
            held = null;
            process.kill(process.pid, "SIGSTOP");
          }
          return listener.message(message);
        },
      });
    },
  } satisfies Pick<PartyLink, "listen" | "send">);
  return {
    hold(name) {
      held = name;
    },
  };
}

/** Commands of the parent, one after the other, each answered with `result` or with `problem`. */
export function obey(run: (command: PartyCommand) => unknown): void {
  process.on("message", (command: PartyCommand) => {
    Promise.resolve()
      .then(() => run(command))
      .then(
        (result) => process.send?.({ result: result ?? null }),
        (error: unknown) => process.send?.({ problem: error instanceof Error ? error.message : "unknown" }),
      );
  });
  process.once("disconnect", () => process.exit(0));
}
