/**
 * @file Import rules: the layering of `scripts/workspace.mjs`, no cycles at run time, packages
 * reached only through their public entry, and no Node built-ins in code that must run in browsers.
 */
import { layers } from './scripts/workspace.mjs';

const any = (names) => `(?:${names.join('|')})`;

/**
 * One rule per package: its sources may reach only the packages in its row.
 * @type {import('dependency-cruiser').IForbiddenRuleType[]}
 */
const layerRules = Object.entries(layers).map(([name, above]) => ({
  name: `layer-${name}`,
  severity: 'error',
  comment: `@tessera/${name} may import only: ${above.join(', ') || 'nothing'}.`,
  from: { path: `^packages/${name}/src/` },
  to: { path: '^(?:packages|apps|examples)/', pathNot: `^packages/${any([name, ...above])}/` },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...layerRules,
    {
      name: 'package-has-a-layer',
      severity: 'error',
      comment: 'A new package needs a row in scripts/workspace.mjs.',
      from: { path: '^packages/', pathNot: `^packages/${any(Object.keys(layers))}/` },
      to: {},
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'Modules import each other at run time. Type-only imports do not count.',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-deep-import',
      severity: 'error',
      comment:
        'Another package is reached only by its entries: @tessera/<name>, @tessera/<name>/<entry>.',
      from: { path: '^(?:packages|apps|examples)/([^/]+)/' },
      to: {
        path: '^packages/[^/]+/(?:src|test|dist)/',
        pathNot: ['^packages/$1/', '^packages/[^/]+/src/[a-z-]+(?:/index)?\\.ts$'],
      },
    },
    {
      name: 'public-api-only',
      severity: 'error',
      comment: 'What users read shows what users have: no entry that is for our packages only.',
      from: { path: '^(?:apps/demo/src|examples)/' },
      to: { path: '^packages/[^/]+/src/internal\\.ts$' },
    },
    {
      name: 'no-relative-import-of-another-package',
      severity: 'error',
      comment: 'Write @tessera/<name>, not a path into the folder next door.',
      from: { path: '^(?:packages|apps|examples)/([^/]+)/' },
      to: {
        path: '^(?:packages|apps|examples)/',
        pathNot: '^(?:packages|apps|examples)/$1/',
        dependencyTypes: ['local'],
      },
    },
    {
      name: 'no-static-node-import',
      severity: 'error',
      comment:
        'Packages run in browsers too: a Node built-in is imported dynamically, behind a check of the environment. The command line is a program for Node.',
      from: { path: '^packages/[^/]+/src/', pathNot: '^packages/cli/src/' },
      to: { dependencyTypes: ['core'], dynamic: false, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      comment:
        'The import does not resolve: a missing file, or a package.json that does not name it.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency-in-source',
      severity: 'error',
      comment: 'What a published package imports must be among its dependencies.',
      from: { path: '^packages/[^/]+/src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(?:^|/)(?:dist|[.]test-results)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['@tessera/source', 'import', 'node', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
