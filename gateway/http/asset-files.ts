/**
 * The files of the dashboard and of the page at /docs, read once at the start and kept as they are sent. The list is
 * made here, and no file is looked up by a caller's text, so no path can lead anywhere else.
 *
 * Invariant: every module that the page imports is in the list; an incomplete page is not served at all.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";

export interface AssetFile {
  /** Path at which it is served. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Buffer;
  /** Strong: the quoted hash of the bytes. */
  readonly etag: string;
}

export interface AssetFiles {
  /** The page itself comes first. */
  readonly files: readonly AssetFile[];
  /**
   * Paths of the modules of `/`: a browser that gets them at once need not discover them one import after the other.
   */
  readonly modulePaths: readonly string[];
}

const PREFIX = "/assets/";
const ENTRY = "dashboard/main.js";
const DOCS_ENTRY = "dashboard/docs.js";
const STATIC = [
  { path: "/", file: "dashboard/index.html", contentType: "text/html; charset=utf-8" },
  { path: "/docs", file: "dashboard/docs.html", contentType: "text/html; charset=utf-8" },
  { path: "/favicon.svg", file: "dashboard/favicon.svg", contentType: "image/svg+xml" },
] as const;
/** A page with more modules than this is not ours. */
const MODULES_MAX = 200;
const IMPORT = /^(?:import|export)\b[^"';]*?["'](\.{1,2}\/[^"']+\.js)["']/gm;
const STYLE_SHEET = /<link rel="stylesheet" href="\/assets\/(dashboard\/[a-z-]+\.css)"/g;
const EACH_VENUE = /^ *<!-- each venue -->\n(.*?)^ *<!-- end -->\n/gms;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*$/m;

/**
 * Finds the built client: beside the compiled gateway, or in `dist` when the gateway runs from its sources. Returns
 * null if it is not built, or was built by an older version without all of the pages.
 */
export function builtClientFolder(): string | null {
  const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
  for (const folder of [join(root, "client"), join(root, "dist", "client")])
    if ([ENTRY, DOCS_ENTRY, ...STATIC.map(({ file }) => file)].every((file) => existsSync(join(folder, file))))
      return folder;
  return null;
}

/** Throws when a file is missing. */
export function readAssetFiles(folder: string): AssetFiles {
  const files: AssetFile[] = STATIC.map(({ path, file, contentType }) => {
    const text = readFileSync(join(folder, file), "utf8");
    return assetFile(path, contentType, Buffer.from(file.endsWith(".html") ? withVenues(text) : text));
  });
  const pages = files.filter(({ contentType }) => contentType.startsWith("text/html"));
  const sheets = pages.flatMap(({ body }) => [...body.toString().matchAll(STYLE_SHEET)].map(([, file = ""]) => file));
  for (const file of new Set(sheets))
    files.push(assetFile(PREFIX + file, "text/css; charset=utf-8", readFileSync(join(folder, file))));
  const modules = new Map<string, string>();
  addModules(modules, folder, ENTRY);
  const modulePaths = [...modules.keys()].map((file) => PREFIX + file);
  addModules(modules, folder, DOCS_ENTRY);
  for (const [file, text] of modules) {
    // Source maps stay where they were built.
    const body = Buffer.from(text.replace(SOURCE_MAP, "").trimEnd());
    files.push(assetFile(PREFIX + file, "text/javascript; charset=utf-8", body));
  }
  return { files, modulePaths };
}

/**
 * The page has one template for a venue; each venue gets its own copy here, so that the layout does not move when
 * figures arrive.
 */
function withVenues(page: string): string {
  return page.replace(EACH_VENUE, (_, part: string) =>
    ROUTABLE_VENUES.map((venue, index) =>
      part.replaceAll("{venue}", venue).replaceAll("{place}", String(index + 1)),
    ).join(""),
  );
}

/** Adds the entry and everything that it imports, by path within the client. */
function addModules(modules: Map<string, string>, folder: string, entry: string): void {
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (modules.has(file)) continue;
    if (modules.size >= MODULES_MAX) throw new Error("the page has too many modules");
    if (file.startsWith("..")) throw new Error(`the page imports from outside the client: ${file}`);
    const text = readFileSync(join(folder, file), "utf8");
    modules.set(file, text);
    for (const [, target = ""] of text.matchAll(IMPORT)) open.push(posix.join(posix.dirname(file), target));
  }
}

export function assetFile(path: string, contentType: string, body: Buffer): AssetFile {
  return { path, contentType, body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}
