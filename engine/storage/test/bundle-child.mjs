/**
 * `node bundle-child.mjs <out> <entry>...`: each entry, a path from the repository's root, becomes one file at its own
 * place under `out`, with what several of them share beside them. A process that loads a few files starts in half the
 * time of one that loads a thousand.
 */
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const REPO_ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
/** Packages of many small modules. The others stay where they are: some are native, some load files of their own. */
const BUNDLED = /^(?:viem|abitype|ox|@noble\/|@scure\/|@sinclair\/typebox)/;
const OWN_URL = "__url_of_module__";

const [out = "", ...entries] = process.argv.slice(2);
const bundle = await rolldown({
  input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ""), join(REPO_ROOT, path)])),
  platform: "node",
  tsconfig: false,
  // As `verbatimModuleSyntax` of tsconfig.json.
  transform: { target: "es2023", typescript: { onlyRemoveTypeImports: true } },
  external: (id) => /^[^./]/.test(id) && !BUNDLED.test(id),
  resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  plugins: [ownUrls()],
});
await bundle.write({
  dir: out,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "shared/[name]-[hash].js",
  // Errors and logs carry names of classes.
  keepNames: true,
});

/** A module finds files beside it by its URL: of the place where it would be if it were compiled by itself. */
function ownUrls() {
  return {
    name: "own-urls",
    transform(code, id) {
      if (!code.includes("import.meta.url") || id.includes("node_modules")) return null;
      const path = relative(REPO_ROOT, id).replace(/\.ts$/, ".js");
      return code.replaceAll("import.meta.url", JSON.stringify(`${OWN_URL}${path}${OWN_URL}`));
    },
    renderChunk(code, { fileName }) {
      const place = new RegExp(`"${OWN_URL}(.+?)${OWN_URL}"`, "g");
      const up = "../".repeat(fileName.split("/").length - 1) || "./";
      return code.replace(place, (_, path) =>
        // Of a program itself, with what it was started with.
        path === fileName ? "import.meta.url" : `new URL(${JSON.stringify(`${up}${path}`)}, import.meta.url).href`,
      );
    },
  };
}
