//! Generated bindings to the contract: every seam and import that this host speaks. The only `bindgen!` of the crate.

mod generated {
    wasmtime::component::bindgen!({
        path: ["../../wit/session", "../../wit/agent", "../../wit/plugin"],
        // Imports and exports everything that is linked and called here. A component need not have all of it:
        // exports are looked up one interface at a time.
        world: "dsh:plugin/session-reference",
        // What may wait is async. All else answers from memory and stays on the guest's own time.
        imports: {
            "dsh:agent/pre-step.handle": async | trappable,
            "dsh:session/query.list-sessions": async | trappable,
            "dsh:session/query.read-titles": async | trappable,
            "dsh:session/query.read-surfaces": async | trappable,
            "dsh:session/query.own-notes": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "dsh:agent/messages.message": crate::item::Handle,
            "dsh:agent/messages.step": crate::chain::Step,
            "dsh:session/query.surface": crate::capability::query::SurfaceHandle,
        },
    });
}

pub(crate) use generated::dsh::{agent, plugin, session};
pub(crate) use generated::exports::dsh::agent as exports;
