/**
 * What venues have a wallet sign: typed data and texts by which they move money, make keys or change an account. Each
 * room says what its venue's are (feeds/{venue}/sign/custody-acts.ts); here they are joined. Whatever reads like a
 * venue's and is not exactly one that is known is a likeness: no rule allows it.
 */
import type { TypedData } from "../digest/typed-data-types.js";

/** What a rule of an act must say: where money may go, and how much of which token. */
export interface ActNeeds {
  readonly destinations: "required" | "optional" | "none";
  readonly amounts: boolean;
}

export interface VenueAct<Name extends string = string> {
  readonly act: Name;
  /** The account that the message names; it must be the wallet. Null: the signer's. */
  readonly account: string | null;
  /** Lower case; null where nothing goes to anybody. */
  readonly destination: string | null;
  readonly spent: { readonly token: string; readonly amount: bigint } | null;
}

export type ActReading<Name extends string = string> =
  | { readonly kind: "act"; readonly act: VenueAct<Name> }
  /** The type and domain of an act, with values that leave open what it does. */
  | { readonly kind: "unreadable" }
  | { readonly kind: "likeness" }
  | { readonly kind: "none" };

export type TextReading<Name extends string = string> =
  | { readonly kind: "act"; readonly act: Name }
  | { readonly kind: "likeness" }
  | { readonly kind: "none" };

/** One room's part. Names are without the venue. */
export interface RoomActs<Name extends string = string> {
  readonly acts: Readonly<Record<Name, ActNeeds>>;
  readTypedData(typed: TypedData): ActReading<Name>;
  /** `text`: the message as UTF-8, a byte that is none replaced. `letters`: what `lettersOf` leaves of it. */
  readText(text: string, letters: string): TextReading<Name>;
}

/** Of all venues. Names are `{venue}.{act}`. */
export interface VenueActs {
  readonly names: readonly string[];
  /** Null: no act of this name. */
  needsOf(act: string): ActNeeds | null;
  readTypedData(typed: TypedData): ActReading;
  readText(message: Uint8Array): TextReading;
}

/** What was read and where it comes from. An act that two venues claim is none: nobody can say what it does. */
export function joinVenueActs(rooms: readonly (readonly [venue: string, room: RoomActs])[]): VenueActs {
  const needs = new Map<string, ActNeeds>(
    rooms.flatMap(([venue, room]) =>
      Object.entries(room.acts).map(([act, actNeeds]) => [`${venue}.${act}`, actNeeds] as const),
    ),
  );
  return {
    names: [...needs.keys()],
    needsOf: (act) => needs.get(act) ?? null,
    readTypedData: (typed) =>
      clearest(
        rooms.map(([venue, room]): ActReading => {
          const reading = room.readTypedData(typed);
          if (reading.kind !== "act") return reading;
          return { kind: "act", act: { ...reading.act, act: `${venue}.${reading.act.act}` } };
        }),
      ),
    readText(message) {
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(message);
      const letters = lettersOf(text);
      return clearest(
        rooms.map(([venue, room]): TextReading => {
          const reading = room.readText(text, letters);
          return reading.kind === "act" ? { kind: "act", act: `${venue}.${reading.act}` } : reading;
        }),
      );
    },
  };
}

const CLARITY = ["act", "unreadable", "likeness"] as const;

function clearest<Reading extends { readonly kind: string }>(
  readings: readonly Reading[],
): Reading | { readonly kind: "likeness" | "none" } {
  for (const kind of CLARITY) {
    const [first, ...others] = readings.filter((reading) => reading.kind === kind);
    if (first === undefined) continue;
    return kind === "act" && others.length > 0 ? { kind: "likeness" } : first;
  }
  return { kind: "none" };
}

/** The venue of an act's name. */
export function venueOf(act: string): string {
  return act.slice(0, act.indexOf("."));
}

/** Compatibility forms (full width, ligatures) become plain letters; blanks, marks and zero-width signs go. */
export function lettersOf(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}
