// One rule per arrow of docs/architecture.md. Read "from" as "files here", "to" as "must not import that".
const only = (name, from, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from, pathNot: '\\.test\\.ts$' },
  to: { path: '^(src|providers)/', pathNot: [from, ...allowed] },
});
const LEAF = ['^src/util/', '^src/model/'];
const PURE_STATUS = 'status/(addresses|compute|conditions|container-state|containers|finish|phase)';
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'warn',
      from: { orphan: true, pathNot: ['\\.d\\.ts$', '(^|/)[^/]+\\.config\\.', '^src/main\\.ts$', '\\.test\\.ts$'] },
      to: {},
    },
    only('util-is-a-leaf', '^src/util/', [], 'util knows nothing of this program'),
    only('model-is-a-leaf', '^src/model/', ['^src/util/', '^providers/contract/'], 'model is data'),
    only('contract-stands-alone', '^providers/contract/', [], 'a provider author reads only this folder'),
    {
      name: 'provider-sees-contract-only',
      comment: 'providers never see the kubelet or each other',
      severity: 'error',
      from: { path: '^providers/(docker|ssh|ecs|fake)/' },
      to: {
        path: '^(src|providers)/',
        pathNot: ['^providers/$1/', '^providers/(contract|shared|engine)/', '^src/(util|testing)/'],
      },
    },
    only(
      'engine-sees-contract-only',
      '^providers/(engine|shared)/',
      ['^providers/(contract|shared)/', '^src/util/'],
      'shared by docker and ssh',
    ),
    {
      name: 'providers-know-no-kubernetes',
      severity: 'error',
      from: { path: '^providers/' },
      to: { path: '@kubernetes/client-node' },
    },
    only('plan-is-pure', '^src/pod/plan/', [...LEAF, '^providers/contract/'], 'no I/O in decisions'),
    only('status-is-pure', `^src/${PURE_STATUS}`, [...LEAF, '^providers/contract/'], 'no I/O in decisions'),
    {
      name: 'peers-meet-in-app',
      comment: 'components know each other through model/stores.ts and pod/ports.ts; app.ts wires them',
      severity: 'error',
      from: { path: '^src/(server|eviction|node|probes|pleg|images|volumes|pod|stats|certificates)/' },
      to: {
        path: '^src/(server|eviction|node|probes|pleg|images|volumes|pod|stats|certificates)/',
        pathNot: ['^src/$1/', '^src/pod/ports\\.ts$'],
      },
    },
    {
      name: 'pure-code-does-no-io',
      severity: 'error',
      from: { path: `^src/(model|spec|pod/plan|${PURE_STATUS})` },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|crypto|path|util)$' },
    },
    {
      name: 'core-takes-providers-through-the-contract',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/app\\.ts$', '\\.test\\.ts$', '^src/testing/'] },
      to: { path: '^providers/', pathNot: '^providers/contract/' },
    },
    {
      name: 'client-node-values-only-in-kube',
      severity: 'error',
      from: { pathNot: '^(src/kube/|e2e/)' },
      to: { path: 'node_modules/@kubernetes/client-node', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'docker-sdk-only-in-engine',
      severity: 'error',
      from: { pathNot: '^(providers/(engine|docker|ssh)|e2e)/' },
      to: { path: 'node_modules/(dockerode|ssh2)/' },
    },
    {
      name: 'aws-sdk-only-in-ecs',
      severity: 'error',
      from: { pathNot: '^(providers/ecs|e2e)/' },
      to: { path: 'node_modules/@aws-sdk/' },
    },
    {
      name: 'express-only-in-server',
      severity: 'error',
      from: { pathNot: '^src/server/' },
      to: { path: 'node_modules/express/' },
    },
    {
      name: 'no-test-code-in-product',
      severity: 'error',
      from: { path: '^(src|providers)/', pathNot: ['\\.test\\.ts$', '^providers/conformance/', '/testing/'] },
      to: { path: ['\\.test\\.ts$', '^e2e/', '^providers/conformance/', '/testing/'] },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['import', 'types', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
