// Written by `make generate` from api/openapi.yaml.
export type paths = {
    "/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWorkflows"];
        put?: never;
        post: operations["applyWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["validateWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWorkflow"];
        put?: never;
        post?: never;
        delete: operations["deleteWorkflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/versions/{version}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["publishVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWorkflowGraph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/expressions/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["evaluateExpression"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["testWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWorkflowExecutions"];
        put?: never;
        post: operations["createExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listExecutions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExecution"];
        put?: never;
        post?: never;
        delete: operations["deleteExecution"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExecutionById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getLogById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getArchive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getArchiveById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["suspendExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resumeExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["retryExecution"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["countExecutions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/failures": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listFailures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getTimeline"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getTimelineById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getProgress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getProgressById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExecutionGraph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getExecutionGraphById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getRecording"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/recording": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getRecordingById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listBatches"];
        put?: never;
        post: operations["runBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAllBatches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/batches/{batchId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBatchById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/batch/{batchId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getBatch"];
        put?: never;
        post?: never;
        delete: operations["deleteBatch"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/batch/{batchId}/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listBatchItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/batch/{batchId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listOperations"];
        put?: never;
        post: operations["startOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/{operationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/{operationId}/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listOperationItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/operations/{operationId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["cancelOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/executions/{executionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followExecution"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executions/{executionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followExecutionById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/workflows/{workflowId}/batch/{batchId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followBatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["follow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followHumanTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listHumanTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["countHumanTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getHumanTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["claimHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["releaseHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/reassign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["reassignHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["answerHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["commentHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["linkHumanTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/links/{linkId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["revokeTaskLink"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/{taskId}/draft": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getHumanTaskDraft"];
        put: operations["putHumanTaskDraft"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/human-tasks/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["answerHumanTasks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["uploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{fileId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete: operations["deleteFile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/files/{fileId}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getFileContent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAPIKeys"];
        put?: never;
        post: operations["createAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getAPIKey"];
        put?: never;
        post?: never;
        delete: operations["revokeAPIKey"];
        options?: never;
        head?: never;
        patch: operations["updateAPIKey"];
        trace?: never;
    };
    "/api-keys/{keyId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotateAPIKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["updateMe"];
        trace?: never;
    };
    "/me/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSettings"];
        put: operations["putSettings"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete: operations["endOtherSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPersonalKeys"];
        put?: never;
        post: operations["createPersonalKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/api-keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getPersonalKey"];
        put?: never;
        post?: never;
        delete: operations["revokePersonalKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/api-keys/{keyId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rotatePersonalKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listUsers"];
        put?: never;
        post: operations["inviteUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getUser"];
        put?: never;
        post?: never;
        delete: operations["removeUser"];
        options?: never;
        head?: never;
        patch: operations["updateUser"];
        trace?: never;
    };
    "/users/{userId}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resetUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/people": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["findPeople"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listGroups"];
        put?: never;
        post: operations["createGroup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/groups/{groupId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getGroup"];
        put?: never;
        post?: never;
        delete: operations["deleteGroup"];
        options?: never;
        head?: never;
        patch: operations["updateGroup"];
        trace?: never;
    };
    "/groups/{groupId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listGroupMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/groups/{groupId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["joinGroup"];
        post?: never;
        delete: operations["leaveGroup"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listGrants"];
        put?: never;
        post: operations["giveGrant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/grants/{grantId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["takeGrant"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSignInMethods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["setUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSession"];
        put?: never;
        post: operations["signIn"];
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch: operations["switchAccount"];
        trace?: never;
    };
    "/session/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["verifySession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/password-reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put: operations["changePassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["beginPasskeySignIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/passkey": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["signInWithPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listPasskeys"];
        put?: never;
        post: operations["addPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkeys/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["beginPasskey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/passkeys/{passkeyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["removePasskey"];
        options?: never;
        head?: never;
        patch: operations["renamePasskey"];
        trace?: never;
    };
    "/auth/oidc/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["beginProviderSignIn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/oidc/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["finishProviderSignIn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/identities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listIdentities"];
        put?: never;
        post: operations["beginIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/me/identities/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["removeIdentity"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["startDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/device/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["redeemDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSecrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSecret"];
        put: operations["putSecret"];
        post?: never;
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/secrets/{name}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["rollBackSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["publishEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getLimits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getOpenAPI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/problems/{code}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getProblem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/schemas/workflow.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getWorkflowSchema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/schemas/test.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getTestSchema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/system": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getSystem"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
};
export type webhooks = Record<string, never>;
export type components = {
    schemas: {
        Activity: {
            last_execution?: components["schemas"]["LastExecution"];
            /** Format: date-time */
            next_schedule?: string;
            /** Format: int64 */
            created: number;
            /** Format: int64 */
            finished: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            open: number;
            at_least?: boolean;
        };
        AddPasskeyBody: {
            name?: string;
            credential: {
                [key: string]: unknown;
            };
        };
        AnswerBody: {
            outcome: string;
            data?: unknown;
            comment?: string;
            files?: string[];
            on_behalf_of?: string;
        };
        ApiKey: {
            /** Format: uuid */
            id: string;
            name: string;
            /** @enum {string} */
            environment: "live" | "test";
            prefix: string;
            last_four: string;
            scopes: string[];
            workflows?: string[];
            namespaces?: string[];
            /** Format: int64 */
            rate_limit?: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at?: string;
            /** Format: date-time */
            last_used_at?: string;
            /** Format: uuid */
            created_by?: string;
            allowed_addresses?: string[];
            /** Format: date-time */
            previous_key_until?: string;
            /** Format: uuid */
            user_id?: string;
            key?: string;
        };
        ApiKeyPage: {
            data: components["schemas"]["ApiKey"][];
            cursor: string | null;
        };
        AppliedWorkflow: {
            /** Format: uuid */
            id: string;
            name: string;
            namespace: string;
            title?: string;
            version: string;
            tags?: string[] | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            activity?: components["schemas"]["Activity"];
            /** Format: int64 */
            revision: number;
            draft: boolean;
            warnings: components["schemas"]["FieldError"][];
        };
        Attempting: {
            reference: string;
            /** Format: int64 */
            attempt: number;
            /** Format: int64 */
            of?: number;
            /** Format: date-time */
            next_at: string;
        };
        AuditActor: {
            /** @enum {string} */
            kind: "user" | "key" | "link" | "system";
            id: string;
            name: string;
        };
        AuditChange: {
            before: unknown;
            after: unknown;
        };
        AuditEntry: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            at: string;
            actor: components["schemas"]["AuditActor"];
            action: string;
            target?: components["schemas"]["AuditTarget"];
            /** @enum {string} */
            environment?: "live" | "test";
            address?: string;
            request_id?: string;
            changes: {
                [key: string]: components["schemas"]["AuditChange"];
            };
            /** Format: int64 */
            count: number;
        };
        AuditPage: {
            data: components["schemas"]["AuditEntry"][];
            cursor: string | null;
        };
        AuditTarget: {
            kind: string;
            id: string;
            name: string;
        };
        Batch: {
            /** Format: uuid */
            batch_id: string;
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_id: string;
            /** @enum {string} */
            status: "pending" | "running" | "completed" | "failed";
            /** Format: int64 */
            total: number;
            /** Format: int64 */
            completed: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            running: number;
            /** Format: int64 */
            waiting: number;
            /** Format: int64 */
            queued: number;
            labels?: {
                [key: string]: string;
            };
            /** Format: int64 */
            concurrency: number;
            /** Format: int64 */
            effective_concurrency: number;
            workflow_version: string;
            /** Format: int64 */
            revision: number;
            /** @enum {string} */
            phase: "pending" | "running" | "completed" | "failed" | "cancelled";
            /** Format: int64 */
            eta_ms?: number;
            /** @enum {string} */
            environment: "live" | "test";
            started_by?: components["schemas"]["StartedBy"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            started_at?: string;
            /** Format: date-time */
            completed_at?: string;
            executions?: components["schemas"]["BatchEntry"][];
            executions_cursor?: string | null;
        };
        BatchEntry: {
            /** Format: uuid */
            execution_id: string;
            inputs: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
            /** Format: int64 */
            duration_ms?: number;
            /** Format: int64 */
            index: number;
            item_id?: string;
            error?: components["schemas"]["ExecutionError"];
        };
        BatchItem: {
            /** Format: uuid */
            execution_id: string;
            inputs?: {
                [key: string]: unknown;
            };
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
            /** Format: int64 */
            duration_ms?: number;
            /** Format: int64 */
            index: number;
            item_id?: string;
            error?: components["schemas"]["ExecutionError"];
        };
        BatchItemPage: {
            data: components["schemas"]["BatchItem"][];
            cursor: string | null;
        };
        BatchPage: {
            data: components["schemas"]["Batch"][];
            cursor: string | null;
        };
        BrokenTest: {
            code: string;
            /** Format: int64 */
            line: number;
            /** Format: int64 */
            column: number;
            detail: string;
            stub?: string;
        };
        BulkAnswerBody: {
            ids?: string[];
            filter?: components["schemas"]["TaskSelection"];
            outcome: string;
            data?: unknown;
            comment?: string;
        };
        BulkAnswerFailed: {
            /** Format: uuid */
            id: string;
            code: string;
        };
        BulkAnswers: {
            /** Format: int64 */
            answered: number;
            failed: components["schemas"]["BulkAnswerFailed"][];
        };
        CancelBody: {
            reason?: string;
        };
        Cause: {
            /** @enum {string} */
            kind: "api" | "batch" | "schedule" | "event" | "parent" | "retry";
            id?: string;
        };
        ClaimBody: {
            force?: boolean;
        };
        CloudEvent: {
            /** @enum {string} */
            specversion: "1.0";
            id: string;
            /** Format: uri-reference */
            source: string;
            type: string;
            subject?: string;
            /** Format: date-time */
            time?: string;
            datacontenttype?: string;
            /** Format: uri */
            dataschema?: string;
            data?: unknown;
            data_base64?: string;
        } & {
            [key: string]: unknown;
        };
        CoveredBranch: {
            name: string;
            /** Format: int64 */
            line: number;
            /** Format: int64 */
            hits: number;
        };
        CoveredDefinition: {
            file: string;
            workflow: string;
            tasks: components["schemas"]["CoveredTask"][];
        };
        CoveredTask: {
            task: string;
            reference: string;
            /** Format: int64 */
            line: number;
            /** Format: int64 */
            hits: number;
            branches: components["schemas"]["CoveredBranch"][];
        };
        CreateBatchBody: {
            items: {
                [key: string]: unknown;
            }[];
            /**
             * Format: double
             * @default 5
             */
            concurrency?: number;
            labels?: {
                [key: string]: string;
            };
            delay?: string;
            /** Format: date-time */
            delay_until?: string;
        };
        CreateExecutionBody: {
            input?: {
                [key: string]: unknown;
            };
            labels?: {
                [key: string]: string;
            };
            delay?: string;
            /** Format: date-time */
            delay_until?: string;
        };
        CreateKeyBody: {
            name: string;
            /** @enum {string} */
            environment?: "live" | "test";
            /** @enum {string} */
            preset?: "run" | "observe" | "operate" | "deploy" | "all";
            scopes?: string[];
            workflows?: string[] | null;
            namespaces?: string[] | null;
            allowed_addresses?: string[] | null;
            /** Format: date-time */
            expires_at?: string | null;
            /** Format: int64 */
            rate_limit?: number | null;
        };
        CreatedExecution: {
            /** Format: uuid */
            execution_id: string;
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_id: string;
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** Format: date-time */
            created_at: string;
            results: components["schemas"]["Result"][] | null;
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
            workflow_version: string;
            /** Format: int64 */
            revision: number;
            /** @enum {string} */
            environment: "live" | "test";
            /** Format: uuid */
            batch_id?: string;
            /** Format: uuid */
            retry_of?: string;
            workflow: string;
            title?: string;
            item_id?: string;
            labels?: {
                [key: string]: string;
            };
            cause: components["schemas"]["Cause"];
            /** Format: uuid */
            parent_id?: string;
            /** Format: uuid */
            root_id?: string;
            /** Format: date-time */
            retained_until?: string;
            waiting_for?: components["schemas"]["WaitingFor"];
            human_tasks?: components["schemas"]["OpenTask"][];
            attempting?: components["schemas"]["Attempting"];
            started_by?: components["schemas"]["StartedBy"];
            /** Format: date-time */
            started_at?: string;
            /** Format: date-time */
            finished_at?: string;
            input?: unknown;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
        };
        CredentialBody: {
            credential: {
                [key: string]: unknown;
            };
        };
        DeviceBody: {
            name: string;
            environments?: ("live" | "test")[];
            admin?: boolean;
        };
        DeviceCode: {
            device_code: string;
            user_code: string;
            /** Format: uri */
            verification_uri: string;
            /** Format: int64 */
            expires_in: number;
            /** Format: int64 */
            interval: number;
        };
        DeviceKey: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            environment: "live" | "test";
            key: string;
            scopes: string[];
            /** Format: date-time */
            expires_at?: string;
        };
        DeviceKeys: {
            user: components["schemas"]["SessionUser"];
            account: components["schemas"]["SessionAccount"];
            keys: components["schemas"]["DeviceKey"][];
        };
        DeviceTokenBody: {
            device_code: string;
        };
        DraftBody: {
            outcome?: string;
            data?: unknown;
            comment?: string;
            files?: string[];
        };
        EvaluateBody: {
            expression: string;
            input?: unknown;
            context?: unknown;
            variables?: {
                [key: string]: unknown;
            };
        };
        Evaluated: {
            value: unknown;
        };
        EventFilter: {
            types: string[];
        };
        Execution: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_id: string;
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** Format: date-time */
            created_at: string;
            results: components["schemas"]["Result"][] | null;
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
            workflow_version: string;
            /** Format: int64 */
            revision: number;
            /** @enum {string} */
            environment: "live" | "test";
            /** Format: uuid */
            batch_id?: string;
            /** Format: uuid */
            retry_of?: string;
            workflow: string;
            title?: string;
            item_id?: string;
            labels?: {
                [key: string]: string;
            };
            cause: components["schemas"]["Cause"];
            /** Format: uuid */
            parent_id?: string;
            /** Format: uuid */
            root_id?: string;
            /** Format: date-time */
            retained_until?: string;
            waiting_for?: components["schemas"]["WaitingFor"];
            human_tasks?: components["schemas"]["OpenTask"][];
            attempting?: components["schemas"]["Attempting"];
            started_by?: components["schemas"]["StartedBy"];
            /** Format: date-time */
            started_at?: string;
            /** Format: date-time */
            finished_at?: string;
            input?: unknown;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
        };
        ExecutionCount: {
            /** Format: int64 */
            count: number;
            at_least: boolean;
            /** Format: date-time */
            examined_until?: string;
        };
        ExecutionError: {
            /** Format: uri */
            type: string;
            /** Format: int64 */
            status: number;
            title?: string;
            detail?: string;
            instance?: string;
            code: string;
            /** @enum {string} */
            origin: "workflow" | "system";
            retryable: boolean;
            /** Format: int64 */
            line?: number;
            /** Format: int64 */
            column?: number;
        };
        ExecutionPage: {
            data: components["schemas"]["Execution"][];
            cursor: string | null;
        };
        ExecutionProgress: {
            data: components["schemas"]["TaskProgress"][];
            truncated: boolean;
        };
        FailureGroup: {
            /** Format: uuid */
            workflow_id: string;
            code: string;
            reference?: string;
            detail?: string;
            /** Format: int64 */
            count: number;
            /** Format: date-time */
            first_at: string;
            /** Format: date-time */
            last_at: string;
            /** Format: uuid */
            sample_id: string;
            failure: string;
        };
        FailureGroups: {
            data: components["schemas"]["FailureGroup"][];
            at_least: boolean;
            /** Format: date-time */
            examined_until?: string;
        };
        FieldError: {
            pointer?: string;
            parameter?: string;
            code: string;
            detail: string;
            /** Format: int64 */
            line?: number;
            /** Format: int64 */
            column?: number;
        };
        File: {
            /** Format: uuid */
            id: string;
            uri: string;
            name: string;
            /** Format: uri */
            url: string;
            /** Format: int64 */
            size: number;
            content_type: string;
            sha256?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            reference: components["schemas"]["FileReference"];
        };
        FileReference: {
            uri: string;
            name: string;
            mediaType: string;
            /** Format: int64 */
            size: number;
            digest?: string;
        };
        FirstGrant: {
            /** @enum {string} */
            role: "participant" | "viewer" | "operator" | "author" | "publisher" | "admin";
            namespace?: string | null;
            /** Format: uuid */
            workflow_id?: string | null;
            environments?: ("live" | "test")[];
        };
        FormCondition: {
            pointer: string;
            values?: unknown[] | null;
            absent?: boolean;
            not?: boolean;
        };
        FormConstraints: {
            min?: unknown;
            max?: unknown;
            exclusive_min?: unknown;
            exclusive_max?: unknown;
            multiple_of?: unknown;
            min_length?: unknown;
            max_length?: unknown;
            pattern?: string;
            min_items?: unknown;
            max_items?: unknown;
            unique?: boolean;
            media_type?: string;
        };
        FormField: {
            pointer: string;
            title: string;
            help_html?: string;
            /** @enum {string} */
            kind: "text" | "longtext" | "integer" | "number" | "boolean" | "choice" | "choices" | "date" | "time" | "datetime" | "email" | "uri" | "file" | "files" | "object" | "list" | "tuple" | "map" | "oneof" | "json";
            required: boolean;
            nullable?: boolean;
            read_only?: boolean;
            options?: components["schemas"]["FormOption"][] | null;
            constraints?: components["schemas"]["FormConstraints"];
            default?: unknown;
            example?: unknown;
            when?: components["schemas"]["FormCondition"];
            required_when?: components["schemas"]["FormCondition"];
            fields?: components["schemas"]["FormField"][] | null;
            items?: components["schemas"]["FormField"];
        };
        FormOption: {
            value: unknown;
            title: string;
            help_html?: string;
        };
        FoundGroup: {
            /** Format: uuid */
            id: string;
            name: string;
        };
        FoundPeople: {
            users: components["schemas"]["FoundUser"][];
            groups: components["schemas"]["FoundGroup"][];
        };
        FoundUser: {
            /** Format: uuid */
            id: string;
            name: string;
            email: string;
        };
        GiveGrantBody: {
            /** Format: uuid */
            user_id?: string;
            /** Format: uuid */
            group_id?: string;
            /** @enum {string} */
            role: "participant" | "viewer" | "operator" | "author" | "publisher" | "admin";
            namespace?: string | null;
            /** Format: uuid */
            workflow_id?: string | null;
            environments?: ("live" | "test")[];
        };
        Grant: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            user_id?: string;
            /** Format: uuid */
            group_id?: string;
            holder: string;
            email?: string;
            /** @enum {string} */
            role: "participant" | "viewer" | "operator" | "author" | "publisher" | "admin";
            namespace?: string;
            /** Format: uuid */
            workflow_id?: string;
            workflow?: string;
            environments: ("live" | "test")[];
            /** Format: date-time */
            created_at: string;
            created_by: string;
        };
        GrantPage: {
            data: components["schemas"]["Grant"][];
            cursor: string | null;
        };
        Graph: {
            digest: string;
            scopes: components["schemas"]["GraphScope"][];
            nodes: components["schemas"]["GraphNode"][];
            edges: components["schemas"]["GraphEdge"][];
        };
        GraphEdge: {
            from: string;
            to: string | null;
            /** @enum {string} */
            kind: "next" | "then" | "case" | "skip" | "caught";
            label?: string;
            back?: boolean;
            /** @enum {string} */
            leaves?: "list" | "workflow";
            scope: string;
        };
        GraphExtension: {
            name: string;
            before?: string;
            after?: string;
        };
        GraphNode: {
            id: string;
            kind: string;
            type?: string;
            name: string;
            detail?: string;
            scope: string;
            /** Format: int64 */
            line: number;
            container: boolean;
            human: boolean;
            if?: string;
            timeout?: string;
            detached?: boolean;
            compete?: boolean;
            extensions?: components["schemas"]["GraphExtension"][] | null;
            workflow?: components["schemas"]["GraphWorkflow"];
            function?: string;
            state?: components["schemas"]["GraphNodeState"];
        };
        GraphNodeState: {
            /** @enum {string} */
            phase: "running" | "waiting" | "cancelled" | "faulted" | "completed";
            counts: components["schemas"]["GraphPhaseCounts"];
            /** Format: int64 */
            first_failed_seq?: number;
            /** Format: int64 */
            last_seq: number;
            /** Format: int64 */
            attempts: number;
        };
        GraphPhaseCounts: {
            /** Format: int64 */
            running: number;
            /** Format: int64 */
            waiting: number;
            /** Format: int64 */
            completed: number;
            /** Format: int64 */
            faulted: number;
            /** Format: int64 */
            cancelled: number;
        };
        GraphScope: {
            id: string;
            owner: string | null;
            /** @enum {string} */
            role: "list" | "branch" | "catch" | "before" | "after" | "function";
            label?: string;
            nodes: string[];
        };
        GraphWorkflow: {
            namespace: string;
            name: string;
            version: string;
        };
        GroupBody: {
            name: string;
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "ready";
            degraded?: string[];
        };
        HumanTask: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "open" | "claimed" | "answered" | "withdrawn";
            title: string;
            assignees: components["schemas"]["TaskAssignees"];
            claimed_by?: components["schemas"]["TaskPerson"];
            /** Format: int64 */
            priority: number;
            /** Format: date-time */
            due_at?: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            ended_at?: string;
            /** Format: uuid */
            workflow_id: string;
            workflow: string;
            /** Format: uuid */
            execution_id: string;
            reference: string;
            iterations: number[];
            /** Format: int64 */
            seq: number;
            /** Format: uuid */
            batch_id?: string;
            item_id?: string;
            /** @enum {string} */
            environment: "live" | "test";
            /** @enum {string} */
            withdrawn_reason?: "timeout" | "cancelled" | "lost_branch" | "jump" | "ended";
            /** @enum {string} */
            refused?: "not_assigned" | "excluded" | "claimed_by_other" | "insufficient_scope" | "answer_conflict" | "task_withdrawn";
            instructions?: string;
            instructions_html?: string;
            form?: unknown;
            outline?: components["schemas"]["FormField"][] | null;
            data?: unknown;
            show?: unknown;
            files?: unknown[] | null;
            upload?: components["schemas"]["TaskUpload"];
            outcomes?: components["schemas"]["TaskOutcome"][] | null;
            comments?: components["schemas"]["TaskComment"][] | null;
            links?: components["schemas"]["TaskLink"][] | null;
            answer?: components["schemas"]["TaskAnswer"];
        };
        HumanTaskCount: {
            /** Format: int64 */
            count: number;
            at_least: boolean;
        };
        HumanTaskCounts: {
            mine: components["schemas"]["HumanTaskCount"];
            groups: components["schemas"]["HumanTaskCount"];
            unassigned: components["schemas"]["HumanTaskCount"];
            overdue: components["schemas"]["HumanTaskCount"];
            all: components["schemas"]["HumanTaskCount"];
        };
        HumanTaskPage: {
            data: components["schemas"]["HumanTask"][];
            cursor: string | null;
        };
        IdentityBegun: {
            /** Format: uri */
            url: string;
        };
        IdentityBody: {
            provider: string;
        };
        IdentityList: {
            data: components["schemas"]["IdentityView"][];
            cursor: string | null;
        };
        IdentityView: {
            provider: string;
            title?: string;
            /** Format: date-time */
            created_at: string;
        };
        InvitationBody: {
            token: string;
            name?: string;
            password?: string;
        };
        InviteUserBody: {
            email: string;
            name: string;
            grants?: components["schemas"]["FirstGrant"][];
        };
        LastExecution: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** Format: date-time */
            created_at: string;
        };
        Limit: {
            name: string;
            /** Format: int64 */
            value: number;
            /** Format: int64 */
            used?: number;
            description: string;
            setting?: string;
        };
        LimitPage: {
            data: components["schemas"]["Limit"][];
            cursor: string | null;
        };
        LinkBody: {
            name: string;
            email?: string;
            expires_in?: string;
        };
        LogLine: {
            /** Format: int64 */
            line: number;
            /** Format: date-time */
            at: string;
            /** Format: int64 */
            seq: number | null;
            /** @enum {string} */
            level: "trace" | "debug" | "info" | "warning" | "error" | "critical";
            /** @enum {string} */
            stream: "stdout" | "stderr" | "log";
            text: string;
        };
        Me: {
            user: components["schemas"]["User"];
            grants: components["schemas"]["Grant"][];
            more_grants: boolean;
            scopes: components["schemas"]["MeScopes"];
            environments: ("live" | "test")[];
            installation: boolean;
            version: string;
        };
        MeScopes: {
            live: string[];
            test: string[];
        };
        MemberPage: {
            data: components["schemas"]["FoundUser"][];
            cursor: string | null;
        };
        NewTaskLink: {
            /** Format: uuid */
            id: string;
            url?: string;
            /** Format: date-time */
            expires_at: string;
        };
        Nothing: Record<string, never>;
        OldestExecution: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_id: string;
            status: string;
            phase: string;
            /** Format: date-time */
            created_at: string;
        };
        OneUseLink: {
            /** Format: uri */
            url?: string;
            /** Format: date-time */
            expires_at: string;
            mailed: boolean;
        };
        OpenTask: {
            /** Format: uuid */
            id: string;
            title: string;
            reference: string;
            iterations: number[];
            /** Format: date-time */
            due_at?: string;
        };
        Operation: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            action: "cancel" | "retry" | "suspend" | "resume" | "delete";
            /** @enum {string} */
            status: "selecting" | "running" | "completed" | "cancelled" | "stopped";
            /** @enum {string} */
            environment: "live" | "test";
            started_by?: components["schemas"]["StartedBy"];
            filter?: components["schemas"]["OperationFilter"];
            /** @enum {string} */
            version?: "published";
            reason?: string;
            /** Format: int64 */
            total: number;
            /** Format: int64 */
            pending: number;
            /** Format: int64 */
            succeeded: number;
            /** Format: int64 */
            skipped: number;
            /** Format: int64 */
            failed: number;
            error?: components["schemas"]["OperationError"];
            failures?: components["schemas"]["OperationItem"][];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            finished_at?: string;
        };
        OperationBody: {
            /** @enum {string} */
            action: "cancel" | "retry" | "suspend" | "resume" | "delete";
            filter?: components["schemas"]["OperationFilter"];
            ids?: string[];
            reason?: string;
            /** @enum {string} */
            version?: "published" | "same";
            dry_run?: boolean;
        };
        OperationError: {
            code: string;
            detail: string;
        };
        OperationFilter: {
            status?: string[];
            phase?: string[];
            /** Format: uuid */
            batch_id?: string;
            /** Format: date-time */
            created_after?: string;
            /** Format: date-time */
            created_before?: string;
            version?: string[];
            error_code?: string[];
            cause?: string[];
            waiting_for?: string[];
            label?: string[];
            /** Format: uuid */
            root_id?: string;
            /** Format: uuid */
            retry_of?: string;
            failure?: string;
            /** Format: int64 */
            min_duration_ms?: number;
            q?: string;
            workflow_id?: string[];
            workflow?: string[];
        };
        OperationItem: {
            /** Format: uuid */
            execution_id: string;
            /** @enum {string} */
            outcome: "pending" | "succeeded" | "skipped" | "failed";
            /** Format: uuid */
            retry_id?: string;
            error?: components["schemas"]["OperationError"];
        };
        OperationItemPage: {
            data: components["schemas"]["OperationItem"][];
            cursor: string | null;
        };
        OperationPage: {
            data: components["schemas"]["Operation"][];
            cursor: string | null;
        };
        OperationPreview: {
            dry_run: boolean;
            /** @enum {string} */
            action: "cancel" | "retry" | "suspend" | "resume" | "delete";
            /** Format: int64 */
            count: number;
            at_least: boolean;
            /** Format: int64 */
            limit: number;
            /** Format: date-time */
            examined_until?: string;
        };
        Overview: {
            /** Format: date-time */
            from: string;
            /** Format: date-time */
            to: string;
            /** Format: int64 */
            step_seconds: number;
            /** Format: date-time */
            as_of?: string;
            buckets: components["schemas"]["OverviewBucket"][];
            total: components["schemas"]["OverviewTotal"];
            workflows: components["schemas"]["OverviewWorkflows"];
            now: components["schemas"]["OverviewNow"];
            failures: components["schemas"]["FailureGroups"];
        };
        OverviewBucket: {
            /** Format: date-time */
            at: string;
            /** Format: int64 */
            started: number;
            /** Format: int64 */
            finished: number;
            /** Format: int64 */
            error: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            duration_p50_ms?: number;
            /** Format: int64 */
            duration_p95_ms?: number;
        };
        OverviewNow: {
            /** Format: int64 */
            queued: number;
            /** Format: int64 */
            running: number;
            /** Format: int64 */
            waiting: number;
            /** Format: int64 */
            human: number;
            /** Format: int64 */
            delayed: number;
            at_least: boolean;
            oldest?: components["schemas"]["OldestExecution"];
        };
        OverviewTotal: {
            /** Format: int64 */
            started: number;
            /** Format: int64 */
            finished: number;
            /** Format: int64 */
            error: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            duration_p50_ms?: number;
            /** Format: int64 */
            duration_p95_ms?: number;
        };
        OverviewWorkflow: {
            /** Format: uuid */
            workflow_id: string;
            workflow: string;
            /** Format: int64 */
            started: number;
            /** Format: int64 */
            finished: number;
            /** Format: int64 */
            error: number;
            /** Format: int64 */
            cancelled: number;
            /** Format: int64 */
            duration_p50_ms?: number;
            /** Format: int64 */
            duration_p95_ms?: number;
        };
        OverviewWorkflows: {
            by_failures: components["schemas"]["OverviewWorkflow"][];
            by_p95: components["schemas"]["OverviewWorkflow"][];
            /** Format: int64 */
            count: number;
            /** Format: int64 */
            compared: number;
            at_least: boolean;
            /** Format: date-time */
            examined_until?: string;
        };
        OwnSession: {
            /** Format: uuid */
            id: string;
            method: string;
            address: string;
            agent: string;
            current: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_seen_at: string;
            /** Format: date-time */
            expires_at: string;
        };
        OwnSessionPage: {
            data: components["schemas"]["OwnSession"][];
            cursor: string | null;
        };
        PasskeyList: {
            data: components["schemas"]["PasskeyView"][];
            cursor: string | null;
        };
        PasskeyOptions: {
            options: {
                [key: string]: unknown;
            };
        };
        PasskeyView: {
            /** Format: uuid */
            id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_used_at?: string;
        };
        PasswordBody: {
            old_password?: string;
            password: string;
        };
        PatchKeyBody: {
            name?: string;
            /** @enum {string} */
            preset?: "run" | "observe" | "operate" | "deploy" | "all";
            scopes?: string[];
            workflows?: string[] | null;
            namespaces?: string[] | null;
            /** Format: date-time */
            expires_at?: string | null;
            /** Format: int64 */
            rate_limit?: number | null;
            allowed_addresses?: string[] | null;
        };
        PatchMeBody: {
            name?: string;
            locale?: string | null;
        };
        PatchUserBody: {
            /** @enum {string} */
            status: "active" | "disabled";
        };
        Problem: {
            /** Format: uri */
            type: string;
            title: string;
            /** Format: int64 */
            status: number;
            detail: string;
            instance: string;
            code: string;
            errors?: components["schemas"]["FieldError"][];
            quota?: components["schemas"]["Quota"];
            request_id: string;
        };
        ProblemPage: {
            /** Format: uri */
            type: string;
            code: string;
            /** Format: int64 */
            status: number;
            title: string;
            description: string;
        };
        PublishBody: {
            /** Format: int64 */
            revision?: number;
        };
        PutSecretBody: {
            value: unknown;
            workflows?: string[] | null;
            namespaces?: string[] | null;
        };
        Quota: {
            name: string;
            owner: components["schemas"]["QuotaOwner"];
            /** Format: int64 */
            limit: number;
            /** Format: int64 */
            used: number;
        };
        QuotaOwner: {
            /** @enum {string} */
            kind: "environment" | "key" | "user" | "account";
            id: string;
        };
        ReassignBody: {
            users?: string[];
            groups?: string[];
        };
        RecordedFile: {
            /** Format: uuid */
            id: string;
            filename: string;
            /** Format: int64 */
            size: number;
            content_type: string;
            digest: string;
        };
        RecordedOutcome: {
            /** Format: int64 */
            seq: number;
            reference: string;
            /** @enum {string} */
            kind: "activity" | "execution" | "answer" | "event" | "message" | "none";
            /** Format: int64 */
            asked_ms: number;
            /** Format: int64 */
            at_ms: number;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
            files: components["schemas"]["RecordedFile"][];
        };
        RecordedTask: {
            /** Format: int64 */
            seq: number;
            name: string;
            /** @enum {string} */
            kind: "call" | "do" | "emit" | "for" | "fork" | "listen" | "raise" | "run" | "set" | "switch" | "try" | "wait";
            reference: string;
            iterations: number[];
            /** Format: int64 */
            attempt: number;
            /** @enum {string} */
            phase: "cancelled" | "faulted" | "completed";
            /** Format: int64 */
            started_ms: number;
            /** Format: int64 */
            ended_ms: number;
        };
        Recording: {
            /** Format: uuid */
            execution_id: string;
            /** Format: uuid */
            workflow_id: string;
            workflow: string;
            workflow_version: string;
            /** Format: int64 */
            revision: number;
            /** Format: date-time */
            started_at: string;
            /** Format: int64 */
            elapsed_ms: number;
            /** @enum {string} */
            phase: "cancelled" | "faulted" | "completed";
            input: unknown;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
            secrets: string[];
            tasks: components["schemas"]["RecordedTask"][];
            outcomes: components["schemas"]["RecordedOutcome"][];
        };
        ReleaseBody: {
            force?: boolean;
        };
        RenamePasskeyBody: {
            name: string;
        };
        ResetBody: {
            token: string;
            password: string;
        };
        Result: {
            filename: string;
            /** Format: uri */
            url: string;
            /** Format: int64 */
            size: number;
            content_type: string;
            sha256?: string;
            /** Format: date-time */
            expires_at: string;
        };
        RetriedExecution: {
            /** Format: uuid */
            execution_id: string;
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            workflow_id: string;
            /** @enum {string} */
            status: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
            /** Format: date-time */
            created_at: string;
            results: components["schemas"]["Result"][] | null;
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
            workflow_version: string;
            /** Format: int64 */
            revision: number;
            /** @enum {string} */
            environment: "live" | "test";
            /** Format: uuid */
            batch_id?: string;
            /** Format: uuid */
            retry_of?: string;
            workflow: string;
            title?: string;
            item_id?: string;
            labels?: {
                [key: string]: string;
            };
            cause: components["schemas"]["Cause"];
            /** Format: uuid */
            parent_id?: string;
            /** Format: uuid */
            root_id?: string;
            /** Format: date-time */
            retained_until?: string;
            waiting_for?: components["schemas"]["WaitingFor"];
            human_tasks?: components["schemas"]["OpenTask"][];
            attempting?: components["schemas"]["Attempting"];
            started_by?: components["schemas"]["StartedBy"];
            /** Format: date-time */
            started_at?: string;
            /** Format: date-time */
            finished_at?: string;
            input?: unknown;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
            newer_version?: string;
            /** Format: int64 */
            newer_revision?: number;
        };
        RetryBody: {
            input?: {
                [key: string]: unknown;
            };
            version?: string;
            /** Format: json-pointer */
            from?: string;
            labels?: {
                [key: string]: string;
            };
        };
        Revision: {
            /** Format: int64 */
            revision: number;
            draft: boolean;
            published: boolean;
            /** Format: date-time */
            created_at: string;
            created_by?: components["schemas"]["StartedBy"];
            message?: string;
        };
        RollBackSecretBody: {
            /** Format: int64 */
            version: number;
        };
        RotateKeyBody: {
            grace?: string;
        };
        Secret: {
            name: string;
            /** Format: int64 */
            version: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            workflows?: string[];
            namespaces?: string[];
            versions?: components["schemas"]["SecretVersion"][];
            used_by?: components["schemas"]["SecretUser"][];
        };
        SecretPage: {
            data: components["schemas"]["Secret"][];
            cursor: string | null;
        };
        SecretUser: {
            /** Format: uuid */
            workflow_id: string;
            workflow: string;
        };
        SecretVersion: {
            /** Format: int64 */
            version: number;
            /** Format: date-time */
            set_at: string;
            /** Format: int64 */
            restores?: number;
        };
        Session: {
            user: components["schemas"]["SessionUser"];
            account: components["schemas"]["SessionAccount"];
            accounts: components["schemas"]["SessionAccount"][];
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            fresh_until: string;
        };
        SessionAccount: {
            /** Format: uuid */
            id: string;
            name: string;
        };
        SessionUser: {
            /** Format: uuid */
            id: string;
            email: string;
            name: string;
            locale?: string;
        };
        SetupBody: {
            token: string;
            name: string;
            email: string;
            password?: string;
        };
        SignInBody: {
            email: string;
            password: string;
        };
        SignInMethods: {
            setup: boolean;
            password: boolean;
            passkeys: boolean;
            oidc: components["schemas"]["SignInProvider"][];
        };
        SignInProvider: {
            name: string;
            title: string;
        };
        StartedBy: {
            /** @enum {string} */
            kind: "user" | "key";
            /** Format: uuid */
            id: string;
            name?: string;
        };
        SwitchBody: {
            /** Format: uuid */
            account: string;
        };
        System: {
            ok: boolean;
            version: string;
            /** @enum {string} */
            engine: "embedded" | "temporal";
            /** @enum {string} */
            database: "sqlite" | "postgresql";
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            as_of: string;
            /** Format: int64 */
            writer_lag_ms?: number;
            executions: components["schemas"]["SystemExecutions"];
            /** Format: date-time */
            oldest_ready_at?: string;
            /** Format: int64 */
            timers_due: number;
            outbox?: components["schemas"]["SystemOutbox"];
            /** Format: int64 */
            workers?: number;
            processes: components["schemas"]["SystemProcess"][];
            disks: components["schemas"]["SystemDisk"][];
            storage_reserve: boolean;
            /** Format: date-time */
            last_backup_at?: string;
            findings: components["schemas"]["SystemFinding"][];
        };
        SystemDisk: {
            folder: string;
            /** Format: int64 */
            free_bytes: number;
            /** Format: int64 */
            total_bytes: number;
        };
        SystemExecutions: {
            /** Format: int64 */
            queued: number;
            /** Format: int64 */
            ready: number;
            /** Format: int64 */
            active: number;
            /** Format: int64 */
            parked: number;
            /** Format: int64 */
            delayed: number;
            at_least: boolean;
        };
        SystemFinding: {
            what: string;
            ok: boolean;
            detail: string;
            damages?: string[];
        };
        SystemOutbox: {
            /** Format: int64 */
            messages: number;
            /** Format: int64 */
            late_ms: number;
        };
        SystemProcess: {
            name: string;
            /** Format: date-time */
            seen_at: string;
            standby?: boolean;
        };
        TaskAnswer: {
            outcome: string;
            data?: unknown;
            comment?: string;
            files: unknown[];
            /** Format: date-time */
            at: string;
            by: components["schemas"]["TaskAnswerer"];
            used: boolean;
        };
        TaskAnswerer: {
            id: string;
            name: string;
            via: components["schemas"]["TaskVia"];
        };
        TaskAssignees: {
            users: string[];
            groups: string[];
            exclude: string[];
        };
        TaskComment: {
            /** Format: uuid */
            id: string;
            by: components["schemas"]["TaskPerson"];
            text: string;
            /** Format: date-time */
            at: string;
        };
        TaskCommentBody: {
            text: string;
        };
        TaskDraft: {
            outcome?: string;
            data?: unknown;
            comment?: string;
            files?: string[];
            /** Format: date-time */
            updated_at?: string;
        };
        TaskLink: {
            /** Format: uuid */
            id: string;
            name: string;
            email?: string;
            created_by?: components["schemas"]["TaskPerson"];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            expires_at: string;
            /** Format: date-time */
            revoked_at?: string;
        };
        TaskOutcome: {
            name: string;
            title: string;
            /** @enum {string} */
            style?: "primary" | "danger";
        };
        TaskPerson: {
            /** @enum {string} */
            kind: "user" | "key";
            id: string;
            name: string;
        };
        TaskProgress: {
            reference: string;
            name: string;
            /** @enum {string} */
            kind: "call" | "do" | "emit" | "for" | "fork" | "listen" | "raise" | "run" | "set" | "switch" | "try" | "wait";
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "cancelled" | "faulted" | "completed";
            counts: components["schemas"]["GraphPhaseCounts"];
            /** Format: int64 */
            attempts: number;
            /** Format: int64 */
            first_failed_seq?: number;
            /** Format: int64 */
            last_seq: number;
            /** Format: int64 */
            min_duration_ms?: number;
            /** Format: int64 */
            mean_duration_ms?: number;
            /** Format: int64 */
            max_duration_ms?: number;
        };
        TaskSelection: {
            status?: ("open" | "claimed")[];
            assignee?: string;
            group?: string;
            unassigned?: boolean;
            /** Format: uuid */
            workflow_id?: string;
            /** Format: uuid */
            batch_id?: string;
            /** Format: uuid */
            execution_id?: string;
            overdue?: boolean;
            q?: string;
        };
        TaskUpload: {
            accept: string[];
            /** Format: int64 */
            max: number;
            required: boolean;
        };
        TaskVia: {
            /** @enum {string} */
            kind: "session" | "key" | "link" | "event";
            id: string;
            made_by?: string;
            behind?: string[];
        };
        TaskWait: {
            /** @enum {string} */
            kind: "person" | "child" | "event" | "retry" | "timer";
            task_id?: string;
            /** Format: date-time */
            until?: string;
            filter?: components["schemas"]["EventFilter"];
            unknown_assignees?: string[];
        };
        TestBody: {
            definition: string;
            tests: string;
            files?: {
                [key: string]: string;
            };
        };
        TestCoverage: {
            /** Format: int64 */
            tasks: number;
            /** Format: int64 */
            tasks_run: number;
            /** Format: int64 */
            branches: number;
            /** Format: int64 */
            branches_run: number;
            /** Format: double */
            percent: number;
            definitions: components["schemas"]["CoveredDefinition"][];
        };
        TestFailure: {
            expectation: string;
            /** Format: int64 */
            line: number;
            /** Format: int64 */
            column: number;
            want?: unknown;
            got?: unknown;
            note?: string;
        };
        TestProblem: {
            file: string;
            /** Format: int64 */
            line: number;
            /** Format: int64 */
            column: number;
            code: string;
            detail: string;
        };
        TestResult: {
            name: string;
            /** Format: int64 */
            line: number;
            /** @enum {string} */
            status: "passed" | "failed" | "error" | "skipped";
            reason?: string;
            phase?: string;
            output?: unknown;
            error?: unknown;
            /** Format: int64 */
            elapsed_ms: number;
            /** Format: int64 */
            duration_ms: number;
            failures: components["schemas"]["TestFailure"][];
            broken?: components["schemas"]["BrokenTest"];
            warnings: components["schemas"]["TestProblem"][];
            timeline: components["schemas"]["TestedTask"][];
        };
        TestedTask: {
            task: string;
            reference: string;
            /** Format: int64 */
            attempt: number;
            phase: string;
            /** Format: int64 */
            started_ms: number;
            /** Format: int64 */
            ended_ms: number | null;
            error?: string;
        };
        TestedWorkflow: {
            /** Format: int64 */
            tests: number;
            /** Format: int64 */
            passed: number;
            /** Format: int64 */
            failed: number;
            /** Format: int64 */
            broken: number;
            /** Format: int64 */
            skipped: number;
            only: boolean;
            /** Format: int64 */
            duration_ms: number;
            results: components["schemas"]["TestResult"][];
            warnings: components["schemas"]["TestProblem"][];
            coverage: components["schemas"]["TestCoverage"];
            snapshots?: string;
            cut: boolean;
        };
        TimelineEntry: {
            /** Format: int64 */
            seq: number;
            /** Format: int64 */
            parent_seq?: number;
            name: string;
            /** @enum {string} */
            kind: "call" | "do" | "emit" | "for" | "fork" | "listen" | "raise" | "run" | "set" | "switch" | "try" | "wait";
            reference: string;
            /** Format: int64 */
            iteration: number;
            iterations: number[];
            /** Format: int64 */
            attempt: number;
            /** @enum {string} */
            phase: "pending" | "running" | "waiting" | "cancelled" | "faulted" | "completed";
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            finished_at?: string;
            waiting_for?: components["schemas"]["TaskWait"];
            /** Format: uuid */
            child_execution_id?: string;
            input?: unknown;
            output?: unknown;
            error?: components["schemas"]["ExecutionError"];
            files?: components["schemas"]["Result"][];
            /** Format: int64 */
            log_bytes?: number;
            document_digest?: string;
        };
        TimelinePage: {
            data: components["schemas"]["TimelineEntry"][];
            cursor: string | null;
            truncated: boolean;
        };
        User: {
            /** Format: uuid */
            id: string;
            email: string;
            name: string;
            locale?: string;
            /** @enum {string} */
            status: "invited" | "active" | "disabled";
            groups: string[];
            methods: string[];
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            last_seen_at?: string;
            /** Format: int64 */
            sessions?: number;
            /** Format: int64 */
            personal_keys?: number;
            /** Format: date-time */
            invitation_expires_at?: string;
            invitation?: components["schemas"]["OneUseLink"];
        };
        UserGroup: {
            /** Format: uuid */
            id: string;
            name: string;
            source?: string;
            members: string[];
            more_members: boolean;
            /** Format: date-time */
            created_at: string;
        };
        UserGroupPage: {
            data: components["schemas"]["UserGroup"][];
            cursor: string | null;
        };
        UserPage: {
            data: components["schemas"]["User"][];
            cursor: string | null;
        };
        Validation: {
            valid: boolean;
            errors: components["schemas"]["FieldError"][];
            warnings: components["schemas"]["FieldError"][];
            graph?: components["schemas"]["Graph"];
        };
        VerifyBody: {
            password?: string;
            credential?: {
                [key: string]: unknown;
            };
        };
        Version: {
            /** Format: uuid */
            workflow_id: string;
            version: string;
            /** Format: int64 */
            revision: number;
            title?: string;
            published: boolean;
            /** Format: int64 */
            published_revision?: number;
            draft: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            definition?: unknown;
            source?: string;
            source_type?: string;
            created_by?: components["schemas"]["StartedBy"];
            message?: string;
            revisions?: components["schemas"]["Revision"][] | null;
        };
        VersionPage: {
            data: components["schemas"]["Version"][];
            cursor: string | null;
        };
        WaitingFor: {
            /** @enum {string} */
            kind: "person" | "child" | "event" | "retry" | "timer" | "slot";
            /** Format: date-time */
            until?: string;
            task_id?: string;
            title?: string;
            filter?: components["schemas"]["EventFilter"];
        };
        Workflow: {
            /** Format: uuid */
            id: string;
            name: string;
            namespace: string;
            title?: string;
            version: string;
            draft?: boolean;
            tags?: string[] | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            activity?: components["schemas"]["Activity"];
        };
        WorkflowDetail: {
            /** Format: uuid */
            id: string;
            name: string;
            namespace: string;
            title?: string;
            version: string;
            draft?: boolean;
            tags?: string[] | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            activity?: components["schemas"]["Activity"];
            /** Format: int64 */
            revision: number;
            published_version?: string;
            input_schema?: unknown;
            outline?: components["schemas"]["FormField"][];
            definition?: unknown;
            source?: string;
            source_type?: string;
        };
        WorkflowPage: {
            data: components["schemas"]["Workflow"][];
            /** Format: date-time */
            cursor: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
};
export type $defs = Record<string, never>;
export interface operations {
    listWorkflows: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                namespace?: string;
                name?: string;
                q?: string;
                tag?: string;
                drafts?: boolean;
                include?: "activity";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowPage"];
                };
            };
        };
    };
    applyWorkflow: {
        parameters: {
            query?: {
                draft?: boolean;
                message?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/yaml": string;
                "application/json": Record<string, never>;
                "application/x-yaml": string;
                "text/x-yaml": string;
                "text/yaml": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedWorkflow"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedWorkflow"];
                };
            };
        };
    };
    validateWorkflow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/yaml": string;
                "application/json": Record<string, never>;
                "application/x-yaml": string;
                "text/x-yaml": string;
                "text/yaml": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validation"];
                };
            };
        };
    };
    getWorkflow: {
        parameters: {
            query?: {
                include?: "outline";
            };
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowDetail"];
                };
            };
        };
    };
    deleteWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listVersions: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionPage"];
                };
            };
        };
    };
    getVersion: {
        parameters: {
            query?: {
                revision?: number;
            };
            header?: never;
            path: {
                workflowId: string;
                version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
        };
    };
    publishVersion: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                version: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PublishBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
        };
    };
    getWorkflowGraph: {
        parameters: {
            query?: {
                version?: string;
                revision?: number;
                format?: "json" | "mermaid" | "dot";
            };
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                    "text/vnd.graphviz": string;
                    "text/vnd.mermaid": string;
                };
            };
        };
    };
    evaluateExpression: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EvaluateBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Evaluated"];
                };
            };
        };
    };
    testWorkflow: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestedWorkflow"];
                };
            };
        };
    };
    listWorkflowExecutions: {
        parameters: {
            query?: {
                status?: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
                phase?: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
                batch_id?: string;
                created_after?: string;
                created_before?: string;
                version?: string;
                error_code?: string;
                cause?: "api" | "batch" | "schedule" | "event" | "parent" | "retry";
                waiting_for?: "person" | "child" | "event" | "retry" | "timer" | "slot";
                label?: string;
                root_id?: string;
                retry_of?: string;
                failure?: string;
                min_duration_ms?: number;
                q?: string;
                limit?: number;
                cursor?: string;
                sort?: "created" | "-created";
                include?: "input";
                fields?: "summary";
            };
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
        };
    };
    createExecution: {
        parameters: {
            query?: {
                version?: string;
                wait?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CreateExecutionBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedExecution"];
                };
            };
        };
    };
    listExecutions: {
        parameters: {
            query?: {
                status?: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
                phase?: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
                batch_id?: string;
                created_after?: string;
                created_before?: string;
                version?: string;
                error_code?: string;
                cause?: "api" | "batch" | "schedule" | "event" | "parent" | "retry";
                waiting_for?: "person" | "child" | "event" | "retry" | "timer" | "slot";
                label?: string;
                root_id?: string;
                retry_of?: string;
                failure?: string;
                min_duration_ms?: number;
                q?: string;
                limit?: number;
                cursor?: string;
                sort?: "created" | "-created";
                include?: "input";
                fields?: "summary";
                workflow_id?: string;
                workflow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
        };
    };
    getExecution: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteExecution: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getExecutionById: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getLogById: {
        parameters: {
            query?: {
                after?: number;
                seq?: number;
                level?: "trace" | "debug" | "info" | "warning" | "error" | "critical";
                stream?: "stdout" | "stderr" | "log";
                q?: string;
                limit?: number;
                wait?: string;
            };
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": components["schemas"]["LogLine"];
                };
            };
        };
    };
    getLog: {
        parameters: {
            query?: {
                after?: number;
                seq?: number;
                level?: "trace" | "debug" | "info" | "warning" | "error" | "critical";
                stream?: "stdout" | "stderr" | "log";
                q?: string;
                limit?: number;
                wait?: string;
            };
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": components["schemas"]["LogLine"];
                };
            };
        };
    };
    getArchive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    getArchiveById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
        };
    };
    cancelExecution: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelBody"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
        };
    };
    suspendExecution: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
        };
    };
    resumeExecution: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Execution"];
                };
            };
        };
    };
    retryExecution: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetriedExecution"];
                };
            };
        };
    };
    countExecutions: {
        parameters: {
            query?: {
                status?: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
                phase?: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
                batch_id?: string;
                created_after?: string;
                created_before?: string;
                version?: string;
                error_code?: string;
                cause?: "api" | "batch" | "schedule" | "event" | "parent" | "retry";
                waiting_for?: "person" | "child" | "event" | "retry" | "timer" | "slot";
                label?: string;
                root_id?: string;
                retry_of?: string;
                failure?: string;
                min_duration_ms?: number;
                q?: string;
                workflow_id?: string;
                workflow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionCount"];
                };
            };
        };
    };
    listFailures: {
        parameters: {
            query?: {
                status?: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
                phase?: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
                batch_id?: string;
                created_after?: string;
                created_before?: string;
                version?: string;
                error_code?: string;
                cause?: "api" | "batch" | "schedule" | "event" | "parent" | "retry";
                waiting_for?: "person" | "child" | "event" | "retry" | "timer" | "slot";
                label?: string;
                root_id?: string;
                retry_of?: string;
                failure?: string;
                min_duration_ms?: number;
                q?: string;
                workflow_id?: string;
                workflow?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FailureGroups"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: {
                from?: string;
                to?: string;
                step?: string;
                workflow_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
        };
    };
    getTimeline: {
        parameters: {
            query?: {
                reference?: string;
                under?: string;
                phase?: "pending" | "running" | "waiting" | "cancelled" | "faulted" | "completed";
                after_seq?: number;
                order?: "asc" | "desc";
                fields?: "summary";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
        };
    };
    getTimelineById: {
        parameters: {
            query?: {
                reference?: string;
                under?: string;
                phase?: "pending" | "running" | "waiting" | "cancelled" | "faulted" | "completed";
                after_seq?: number;
                order?: "asc" | "desc";
                fields?: "summary";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelinePage"];
                };
            };
        };
    };
    getProgress: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionProgress"];
                };
            };
        };
    };
    getProgressById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionProgress"];
                };
            };
        };
    };
    getExecutionGraph: {
        parameters: {
            query?: {
                format?: "json" | "mermaid" | "dot";
            };
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                    "text/vnd.graphviz": string;
                    "text/vnd.mermaid": string;
                };
            };
        };
    };
    getExecutionGraphById: {
        parameters: {
            query?: {
                format?: "json" | "mermaid" | "dot";
            };
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                    "text/vnd.graphviz": string;
                    "text/vnd.mermaid": string;
                };
            };
        };
    };
    getRecording: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recording"];
                };
            };
        };
    };
    getRecordingById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recording"];
                };
            };
        };
    };
    listBatches: {
        parameters: {
            query?: {
                status?: "pending" | "running" | "completed" | "failed";
                phase?: "pending" | "running" | "completed" | "failed" | "cancelled";
                label?: string;
                created_after?: string;
                created_before?: string;
                limit?: number;
                cursor?: string;
                executions?: "full" | "none" | "page";
            };
            header?: never;
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchPage"];
                };
            };
        };
    };
    runBatch: {
        parameters: {
            query?: {
                version?: string;
                wait?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateBatchBody"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    listAllBatches: {
        parameters: {
            query?: {
                status?: "pending" | "running" | "completed" | "failed";
                phase?: "pending" | "running" | "completed" | "failed" | "cancelled";
                label?: string;
                created_after?: string;
                created_before?: string;
                limit?: number;
                cursor?: string;
                workflow_id?: string;
                workflow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchPage"];
                };
            };
        };
    };
    getBatchById: {
        parameters: {
            query?: {
                executions?: "full" | "none" | "page";
                wait?: string;
            };
            header?: never;
            path: {
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getBatch: {
        parameters: {
            query?: {
                executions?: "full" | "none" | "page";
                wait?: string;
            };
            header?: never;
            path: {
                workflowId: string;
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listBatchItems: {
        parameters: {
            query?: {
                status?: "initial" | "processing" | "human_in_the_loop" | "finished" | "error";
                phase?: "pending" | "running" | "waiting" | "suspended" | "cancelled" | "faulted" | "completed";
                fields?: "summary";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                workflowId: string;
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchItemPage"];
                };
            };
        };
    };
    cancelBatch: {
        parameters: {
            query?: {
                executions?: "full" | "none" | "page";
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                workflowId: string;
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelBody"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Batch"];
                };
            };
        };
    };
    listOperations: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationPage"];
                };
            };
        };
    };
    startOperation: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OperationBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationPreview"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    getOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    listOperationItems: {
        parameters: {
            query?: {
                outcome?: "pending" | "succeeded" | "skipped" | "failed";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationItemPage"];
                };
            };
        };
    };
    cancelOperation: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                operationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
        };
    };
    followExecution: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: never;
            path: {
                workflowId: string;
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    followExecutionById: {
        parameters: {
            query?: {
                after?: number;
            };
            header?: never;
            path: {
                executionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    followBatch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflowId: string;
                batchId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    follow: {
        parameters: {
            query?: {
                topic?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    followHumanTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    listHumanTasks: {
        parameters: {
            query?: {
                status?: "open" | "claimed" | "answered" | "withdrawn";
                assignee?: string;
                group?: string;
                unassigned?: boolean;
                workflow_id?: string;
                batch_id?: string;
                execution_id?: string;
                overdue?: boolean;
                q?: string;
                answered_by?: "me";
                sort?: "due" | "created" | "priority";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTaskPage"];
                };
            };
        };
    };
    countHumanTasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTaskCounts"];
                };
            };
        };
    };
    getHumanTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    claimHumanTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ClaimBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
        };
    };
    releaseHumanTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReleaseBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
        };
    };
    reassignHumanTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReassignBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
        };
    };
    answerHumanTask: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
        };
    };
    commentHumanTask: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskCommentBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HumanTask"];
                };
            };
        };
    };
    linkHumanTask: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTaskLink"];
                };
            };
        };
    };
    revokeTaskLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
                linkId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getHumanTaskDraft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDraft"];
                };
            };
        };
    };
    putHumanTaskDraft: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                taskId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DraftBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDraft"];
                };
            };
        };
    };
    answerHumanTasks: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkAnswerBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkAnswers"];
                };
            };
        };
    };
    uploadFile: {
        parameters: {
            query?: {
                filename?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/octet-stream": string;
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: {
                task_id?: string;
            };
            header?: never;
            path: {
                fileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["File"];
                };
            };
        };
    };
    deleteFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                fileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getFileContent: {
        parameters: {
            query?: {
                expires?: string;
                signature?: string;
                task_id?: string;
            };
            header?: never;
            path: {
                fileId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            302: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listAPIKeys: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyPage"];
                };
            };
        };
    };
    createAPIKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateKeyBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    getAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    revokeAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateAPIKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchKeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    rotateAPIKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateKeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    updateMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchMeBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    getSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    putSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnSessionPage"];
                };
            };
        };
    };
    endOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listPersonalKeys: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyPage"];
                };
            };
        };
    };
    createPersonalKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateKeyBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    getPersonalKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    revokePersonalKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    rotatePersonalKey: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                keyId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateKeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                q?: string;
                status?: "invited" | "active" | "disabled";
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
        };
    };
    inviteUser: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InviteUserBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    removeUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PatchUserBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    resetUser: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneUseLink"];
                };
            };
        };
    };
    findPeople: {
        parameters: {
            query?: {
                q?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundPeople"];
                };
            };
        };
    };
    listGroups: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserGroupPage"];
                };
            };
        };
    };
    createGroup: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserGroup"];
                };
            };
        };
    };
    getGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                groupId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserGroup"];
                };
            };
        };
    };
    deleteGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                groupId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                groupId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserGroup"];
                };
            };
        };
    };
    listGroupMembers: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                groupId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberPage"];
                };
            };
        };
    };
    joinGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                groupId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    leaveGroup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                groupId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listGrants: {
        parameters: {
            query?: {
                user_id?: string;
                group_id?: string;
                workflow_id?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantPage"];
                };
            };
        };
    };
    giveGrant: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GiveGrantBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
        };
    };
    takeGrant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                grantId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getSignInMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
        };
    };
    setUp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetupBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    switchAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwitchBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    verifySession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    beginPasskeySignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptions"];
                };
            };
        };
    };
    signInWithPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CredentialBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    listPasskeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyList"];
                };
            };
        };
    };
    addPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddPasskeyBody"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyView"];
                };
            };
        };
    };
    beginPasskey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyOptions"];
                };
            };
        };
    };
    removePasskey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                passkeyId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    renamePasskey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                passkeyId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenamePasskeyBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyView"];
                };
            };
        };
    };
    beginProviderSignIn: {
        parameters: {
            query?: {
                verify?: boolean;
                page?: "device";
            };
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    finishProviderSignIn: {
        parameters: {
            query?: {
                state?: string;
                code?: string;
            };
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listIdentities: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityList"];
                };
            };
        };
    };
    beginIdentity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityBegun"];
                };
            };
        };
    };
    removeIdentity: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    startDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceCode"];
                };
            };
        };
    };
    redeemDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeviceTokenBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceKeys"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
        };
    };
    getSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
        };
    };
    putSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutSecretBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    rollBackSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollBackSecretBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
        };
    };
    publishEvents: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/cloudevents+json": components["schemas"]["CloudEvent"];
                "application/cloudevents-batch+json": components["schemas"]["CloudEvent"][] | null;
                "*/*": string;
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listAuditLog: {
        parameters: {
            query?: {
                actor?: string;
                action?: string;
                target?: string;
                after?: string;
                before?: string;
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                    "application/jsonl": components["schemas"]["AuditEntry"];
                };
            };
        };
    };
    getLimits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitPage"];
                };
            };
        };
    };
    getOpenAPI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getProblem: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                code: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProblemPage"];
                };
            };
        };
    };
    getWorkflowSchema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getTestSchema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getSystem: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["System"];
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}
