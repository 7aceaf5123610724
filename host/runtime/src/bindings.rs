//! Generated bindings to the contract: every seam and import that this host speaks. The only `bindgen!` of the crate.

mod generated {
    wasmtime::component::bindgen!({
        path: ["../../wit/session", "../../wit/agent", "../../wit/plugin"],
        // Everything that is linked and called here. A component need not have all of it: exports are looked up one
        // interface at a time.
        inline: "
            package dsh:host;
            world host {
                include dsh:plugin/session-reference@0.1.0;
                include dsh:plugin/sidechat@0.1.0;
            }
        ",
        world: "dsh:host/host",
        // What may wait is async. All else answers from memory and stays on the guest's own time.
        imports: {
            "dsh:agent/pre-step.handle": async | trappable,
            "dsh:session/query.list-sessions": async | trappable,
            "dsh:session/query.read-titles": async | trappable,
            "dsh:session/query.read-surfaces": async | trappable,
            "dsh:session/query.own-notes": async | trappable,
            "dsh:agent/agents.current": async | trappable,
            "dsh:agent/agents.[static]birth.create": async | trappable,
            "dsh:agent/agents.[method]agent.parent": async | trappable,
            "dsh:agent/agents.[method]agent.said-through": async | trappable,
            "dsh:agent/agents.[method]agent.completed-turns": async | trappable,
            "dsh:agent/agents.[method]agent.inject": async | trappable,
            "dsh:agent/agents.[method]agent.withdraw": async | trappable,
            "dsh:agent/agents.[method]agent.ask": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "dsh:agent/messages.message": crate::item::Handle,
            "dsh:agent/messages.step": crate::chain::Step,
            "dsh:agent/agents.seed": crate::capability::agents::SeedHandle,
            "dsh:agent/agents.birth": crate::capability::agents::Unborn,
            "dsh:agent/agents.delivery": crate::agents::Delivery,
            "dsh:agent/agents.answer": crate::agents::Answer,
            "dsh:agent/agents.agent": crate::capability::agents::AgentHandle,
            "dsh:agent/invocations.invocation": crate::capability::invocations::InvocationHandle,
            "dsh:agent/tools.call": crate::capability::tools::CallHandle,
            "dsh:session/query.surface": crate::capability::query::SurfaceHandle,
        },
    });
}

pub(crate) use generated::dsh::{agent, plugin, session};
pub(crate) use generated::exports::dsh::agent as exports;
