/**
 * A venue is its room, its local venue and a few files beside them: docs/adding-a-venue.md lists those, and here the list
 * is held against what there is. Tests, recorded fixtures and documents may name whom they like.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { LOCAL_VENUE_NAMES } from "../../bench/sim/venues.js";
import { VENUE_BENCHES } from "../../bench/venues/table.js";
import { KEY_FIELDS, VENUES as PAGE_VENUES } from "../../client/view/venues.js";
import { ROUTABLE_VENUES, type RoutableVenue, VENUES as ALL_VENUES } from "../../engine/domain/venue.js";
import { VENUES as DESCRIPTORS } from "../../feeds/registry.js";
import { ROUTABLE_VENUE_WORDS, VENUE_WORDS } from "../../schemas/common.js";
import { CONTRACTS } from "../../schemas/venues.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/adding-a-venue.md"), "utf8");
const FILES_MAX = 10;
/** Folders of the sources; of the root itself its own files. */
const FOLDERS = ["engine", "feeds", "gateway", "bench", "schemas", "client"];
const SET_ASIDE = /\.test\.ts$|\.md$|^bench\/out\/|\/(test|fixtures)\//;
/** Written by a package manager, and by an operator. */
const NOT_OURS = ["package-lock.json", "unwind.config.json"];

/** Every file that counts, by its path from the root, with what it says. */
function sources(): ReadonlyMap<string, string> {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length)),
  );
  const inRoot = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isFile() && !NOT_OURS.includes(entry.name) && !/\.(log|tgz)$/.test(entry.name))
    .map(({ name }) => name);
  const paths = [...inFolders, ...inRoot].filter((path) => !SET_ASIDE.test(path));
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}

const SOURCES = sources();

/** By name or by content, in any case; its room and its local venue left out. */
function filesNaming(venue: RoutableVenue): readonly string[] {
  return [...SOURCES]
    .filter(([path]) => !path.startsWith(`feeds/${venue}/`) && !path.startsWith(`bench/sim/${venue}/`))
    .filter(([path, text]) => `${path}\n${text}`.toLowerCase().includes(venue))
    .map(([path]) => path)
    .sort();
}

/** First cells of the table below a heading. */
function tableBelow(heading: string): readonly string[] {
  const [, section = ""] = PAGE.split(`\n## ${heading}\n`);
  const [body = ""] = section.split("\n## ");
  return [...body.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = ""]) => cell);
}

describe.each(ROUTABLE_VENUES)("%s", (venue) => {
  it("is named, outside its room and its local venue, in the files that docs/adding-a-venue.md lists and in no other", () => {
    const listed = tableBelow("The files outside its room and its local venue");
    expect(filesNaming(venue)).toEqual(listed.map((path) => path.replace("{venue}", venue)).sort());
  });

  it("is named there in ten files at most", () => {
    expect(filesNaming(venue).length).toBeLessThanOrEqual(FILES_MAX);
  });

  it("has every file of a room that docs/adding-a-venue.md describes", () => {
    const missing = tableBelow("The room").filter((name) => !existsSync(join(ROOT, "feeds", venue, `${name}.ts`)));
    expect(missing).toEqual([]);
  });

  it("has a field of the account form for each field of its credentials that is required, and no other field", () => {
    const { properties, required = [] } = CONTRACTS[venue].credentials.block;
    const fields = KEY_FIELDS[venue];
    expect(fields.filter(({ name }) => !Object.hasOwn(properties, name))).toEqual([]);
    expect(fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual(required);
  });
});

describe("docs/adding-a-venue.md", () => {
  it("describes every file that all rooms have", () => {
    const [first, ...others] = ROUTABLE_VENUES.map((venue) =>
      [...SOURCES.keys()].flatMap((path) => {
        const prefix = `feeds/${venue}/`;
        return path.startsWith(prefix) && path.endsWith(".ts") ? [path.slice(prefix.length, -".ts".length)] : [];
      }),
    );
    const common = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
    expect([...tableBelow("The room")].sort()).toEqual(common.sort());
  });

  it("describes every field that a descriptor may have", () => {
    const source = SOURCES.get("feeds/shared/room/venue-descriptor.ts") ?? "";
    const [, definition = ""] = /interface Definition<[^{]*\{\n(.*?)\n\}/s.exec(source) ?? [];
    const fields = [...definition.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name = ""]) => name);
    expect(fields.length).toBeGreaterThan(5);
    expect([...tableBelow("The descriptor")].sort()).toEqual(fields.sort());
  });
});

describe("the lists of venues", () => {
  it.each<[name: string, venues: readonly string[]]>([
    ["the public contract", ROUTABLE_VENUE_WORDS],
    ["the registry of rooms", DESCRIPTORS.map(({ venue }) => venue)],
    ["the contracts", Object.keys(CONTRACTS)],
    ["the page", PAGE_VENUES],
    ["the local venues", LOCAL_VENUE_NAMES],
    ["the benchmarks", Object.keys(VENUE_BENCHES)],
  ])("are the engine's, in its order: %s", (_, venues) => {
    expect([...venues]).toEqual([...ROUTABLE_VENUES]);
  });

  it("have the same names beyond those that this service trades on", () => {
    expect([...VENUE_WORDS]).toEqual([...ALL_VENUES]);
  });
});
