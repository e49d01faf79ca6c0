import { outageSuite } from '../outage-suite.ts';

outageSuite('the API server is away for 15 s', 15_000);
