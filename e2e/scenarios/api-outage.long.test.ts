import { outageSuite } from '../outage-suite.ts';

outageSuite('the API server is away for 60 s', 60_000);
