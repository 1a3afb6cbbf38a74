// Reads the files of a folder with the TypeScript compiler: each N.d.ts alone, or with N.ts where that
// is there too. Usage: node types.mjs FOLDER. Prints one line for each finding; silence is good.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const [folder] = process.argv.slice(2);
const options = {
  noEmit: true, strict: true, types: [], lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
  target: ts.ScriptTarget.ES2022, skipLibCheck: false, skipDefaultLibCheck: true,
};
const host = ts.createCompilerHost(options, true);
// The compiler's own declarations are the same for all, and slow to read.
const read = host.getSourceFile;
const kept = new Map();
host.getSourceFile = (name, ...rest) => {
  if (!kept.has(name)) kept.set(name, read.call(host, name, ...rest));
  return kept.get(name);
};
for (const name of readdirSync(folder).filter((it) => it.endsWith(".d.ts")).sort()) {
  const files = [name, name.replace(/\.d\.ts$/, ".ts")].map((it) => join(folder, it));
  const program = ts.createProgram(files.filter(existsSync), options, host);
  const own = files.filter(existsSync).map((it) => program.getSourceFile(it));
  const found = own.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]);
  for (const { messageText, file, start } of found) {
    const { line } = file.getLineAndCharacterOfPosition(start);
    const text = ts.flattenDiagnosticMessageText(messageText, " ");
    process.stdout.write(`${file.fileName}:${line + 1}: ${text}\n`);
  }
}
