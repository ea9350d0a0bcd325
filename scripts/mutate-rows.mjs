/**
 * @file `pnpm conformance --mutate [name…]`: breaks one mechanism at a time and says which rows fall.
 *
 * The faults are inserted while the sources are loaded, all of them, each behind a condition that holds in the
 * run of that fault alone: so sources are read and translated once (as modules, see tooling/bundled-sources.ts). A
 * row of the table that survives its fault, text of a source that a fault no longer finds, and a row that falls to
 * nothing but a fault that breaks everything are an exit status of 1.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MUTATIONS } from './row-mutations.mjs';
import { root } from './workspace.mjs';

/** Names the fault of a run to its processes. */
const VARIABLE = 'TESSERA_ROW_MUTATION';

/** The faults of a file, inserted; their places are found in the text as it is written. */
function mutated(code, file) {
  const inserts = MUTATIONS.flatMap(({ name, edits }) =>
    edits
      .filter((edit) => edit.file === file)
      .map(({ after, insert }) => {
        const condition = `process.env.${VARIABLE} === ${JSON.stringify(name)}`;
        // One line stays one line, so that stack traces stay right.
        return { at: code.indexOf(after) + after.length, text: ` if (${condition}) { ${insert} }` };
      }),
  );
  // From the end, so that earlier places stay where they are.
  inserts.sort((a, b) => b.at - a.at);
  return inserts.reduce(
    (text, { at, text: more }) => text.slice(0, at) + more + text.slice(at),
    code,
  );
}

/** What no longer holds of the table. */
function staleEdits() {
  return MUTATIONS.flatMap(({ name, edits }) =>
    edits.flatMap(({ file, after }) => {
      const path = join(root, file);
      const times = existsSync(path) ? readFileSync(path, 'utf8').split(after).length - 1 : 0;
      return times === 1 ? [] : [`${name}: ${file} holds '${after}' ${times} times, not once`];
    }),
  );
}

/** The text of a test file and of the folder that is named after it, where rows may get their names. */
function textUnder(path) {
  const files = readdirSync(path).map((name) => join(path, name));
  return [`${path}.test.ts`, ...files].map((file) => readFileSync(file, 'utf8')).join('');
}

/** `[file:]title[ (device)]`. */
function parseRow(row) {
  const [, file = '', title, device = ''] =
    /^(?:([\w-]+):)?([^()]+?)(?: \((\w+)\))?$/.exec(row) ?? [];
  return { file, title, device };
}

const inFile = ({ file }, path) => file === '' || path.endsWith(`/${file}.test.ts`);

/** Which titles of tests are of these rows. */
function titles(rows) {
  const each = rows.map(({ title, device }) =>
    device === '' ? `${title}(?: \\(\\w+\\))?` : `${title} \\(${device}\\)`,
  );
  return new RegExp(`^(?:${each.join('|')})$`);
}

/** Rows of these files that fall to no fault but one that breaks everything. */
function unnamed(specifications) {
  const named = new Set(
    MUTATIONS.filter(({ name }) => !name.endsWith('is the identity'))
      .flatMap(({ rows }) => rows)
      .map((row) => parseRow(row).title),
  );
  const titles = specifications.flatMap(({ moduleId }) => [
    ...textUnder(moduleId.replace(/\.test\.ts$/, '')).matchAll(
      /'(test_\w+|the model rows [^('%]+)/g,
    ),
  ]);
  return [...new Set(titles.map(([, title]) => title.trim()))]
    .filter((title) => !named.has(title))
    .sort();
}

/** Runs the table, or the faults whose name holds one of `filters`; true if every row fell. */
export async function mutateRows(filters) {
  const stale = staleEdits();
  for (const line of stale) console.log(`stale  ${line}`);
  if (stale.length > 0) return false;
  const require = createRequire(import.meta.url);
  const { createVitest } = await import(pathToFileURL(require.resolve('vitest/node')).href);
  const project = join(root, 'packages/testkit');
  const vitest = await createVitest(
    'test',
    {
      root: project,
      config: join(project, 'vitest.conformance.config.ts'),
      watch: false,
      reporters: [{}],
    },
    {
      plugins: [
        {
          name: 'row-mutations',
          enforce: 'pre',
          transform: (code, id) => mutated(code, relative(root, id.split('?')[0])),
        },
      ],
    },
  );
  let survived = 0;
  let specified = [];
  try {
    const specifications = await vitest.globTestSpecifications();
    specified = specifications;
    const texts = new Map(
      specifications.map((file) => [file, textUnder(file.moduleId.replace(/\.test\.ts$/, ''))]),
    );
    for (const { name, rows } of MUTATIONS) {
      if (filters.length > 0 && !filters.some((filter) => name.includes(filter))) continue;
      const wanted = rows.map(parseRow);
      const holding = specifications.filter((file) =>
        wanted.some(
          (row) => inFile(row, file.moduleId) && texts.get(file).includes(`'${row.title}`),
        ),
      );
      process.env[VARIABLE] = name;
      vitest.setGlobalTestNamePattern(titles(wanted));
      const { testModules } = await vitest.runTestSpecifications(holding, false);
      for (const row of wanted) {
        const tests = testModules
          .filter(({ moduleId }) => inFile(row, moduleId))
          .flatMap((module) => [...module.children.allTests()])
          .filter((test) => titles([row]).test(test.name));
        const fallen = tests.filter((test) => test.result().state === 'failed');
        const fell = tests.length > 0 && fallen.length === tests.length;
        if (!fell) survived++;
        const why = fallen[0]?.result().errors?.[0]?.message?.split('\n')[0] ?? '';
        const times = `${fallen.length} of ${tests.length}`;
        console.log(
          `${fell ? 'fell' : 'SURVIVED'}  ${name}: ${row.title} (${times})  ${why.slice(0, 120)}`,
        );
      }
    }
  } finally {
    delete process.env[VARIABLE];
    await vitest.close();
  }
  const without = filters.length === 0 ? unnamed(specified) : [];
  for (const title of without) console.log(`NO FAULT OF ITS OWN  ${title}`);
  console.log(`${survived} rows survived, ${without.length} without a fault of their own`);
  return survived + without.length === 0;
}
